"""A serving engine for language models whose decode steps are captured by batch descriptor."""
