# Verbs that sample and count, and their daemon, with names that would steer a terminal, forge a line or become a formula: none does.
exec python3 "$SOURCE/tests/hostile_output.py" live
