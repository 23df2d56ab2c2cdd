"""A simulator of many robots: managers of terms around a captured physics step, and a policy on top."""
