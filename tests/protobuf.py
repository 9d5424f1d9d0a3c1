"""Protocol buffer messages, read and written without any schema and by other code than culprit's."""


def varints(data):
    """The numbers of a packed field."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def fields(data):
    """(number, value) of each field: bytes, or a number."""
    at = 0

    def next_number():
        nonlocal at
        start = at
        while data[at] >= 128:
            at += 1
        at += 1
        return next(varints(data[start:at]))

    while at < len(data):
        key = next_number()
        if key & 7 == 2:
            size = next_number()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            assert key & 7 == 0, f"field {key >> 3} has wire type {key & 7}"
            yield key >> 3, next_number()


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, body):
    """A field of bytes: a text, another message, packed numbers."""
    return varint(field << 3 | 2) + varint(len(body)) + body
