#include "culprit/culprit.h"

const char *culprit_version(void)
{
	return CULPRIT_VERSION;
}
