# calls, dictionaries, objects, regular expressions, sorting, json
import json
import re
import sys


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Vector:
    __slots__ = ('x', 'y')

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def plus(self, other):
        return Vector(self.x + other.x, self.y + other.y)


text = open(sys.argv[1], 'rb').read(300000).decode('latin1')
for round in range(8):
    sums = {}
    for i in range(60000):
        key = 'key%d' % (i * 7907 % 10009)
        sums[key] = sums.get(key, 0) + i
    at = Vector(0, 0)
    for i in range(80000):
        at = at.plus(Vector(i, 1.5))
    counts = {}
    for word in re.findall(r'[A-Za-z_]+', text):
        counts[word] = counts.get(word, 0) + 1
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]
    written = json.dumps(counts)
    print(fibonacci(21), len(sums), at.x, first[:2], len(written), len(json.loads(written)))
