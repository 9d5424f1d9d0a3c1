#include "analyze/names/profile_isa.h"

#include "isa/decode.h"

enum isa profile_isa(const struct profile *profile)
{
	enum isa found = ISA_UNKNOWN;
	for (size_t row = 0; row < profile_table(profile, PROFILE_SOURCE)->count; row++) {
		enum isa isa = isa_of_name(profile_source(profile, row).machine);
		if (isa == ISA_UNKNOWN || (found != ISA_UNKNOWN && isa != found))
			return ISA_UNKNOWN;
		found = isa;
	}
	return found;
}
