#include "isa/decode_private.h"
