"""From files to facts: bytes, text, syntax trees, module names; nothing here knows values or rules."""
