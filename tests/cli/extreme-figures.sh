# No share is above its whole and no figure without an end, whatever the numbers of a profile are.
exec python3 "$SOURCE/tests/extreme_figures.py"
