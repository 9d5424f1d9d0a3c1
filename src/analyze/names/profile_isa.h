/*
 * profile_isa - the instruction set of all machines that a profile comes from; ISA_UNKNOWN when
 * they differ, or are none that is known.
 */
#pragma once

#include "isa/isa.h"
#include "profile/profile.h"

enum isa profile_isa(const struct profile *profile);
