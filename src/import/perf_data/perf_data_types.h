/*
 * perf_data_types - numbers of a perf.data file that no header of the kernel
 * has (tools/perf/Documentation/perf.data-file-format.txt).
 */
#pragma once

#include <stdint.h>

/* Records that perf itself writes. */
enum perf_file_record {
	PERF_FILE_FIRST = 64,
	PERF_FILE_ATTR = 64,
	PERF_FILE_EVENT_TYPE = 65, /* perf 3.x */
	PERF_FILE_TRACING_DATA = 66,
	PERF_FILE_BUILD_ID = 67,
	PERF_FILE_FINISHED_ROUND = 68,
	PERF_FILE_AUXTRACE_INFO = 70,
	PERF_FILE_AUXTRACE = 71,
	PERF_FILE_EVENT_UPDATE = 78,
	PERF_FILE_FEATURE = 80,
	PERF_FILE_COMPRESSED = 81,
	PERF_FILE_COMPRESSED2 = 83,
	PERF_FILE_LAST = 127,
	PERF_FILE_FOREIGN = 32768, /* and above: simpleperf's */
};

/* What wrote a hardware trace, by AUXTRACE_INFO (tools/perf/util/auxtrace.h, from 1). */
enum perf_trace {
	PERF_TRACE_UNKNOWN,
	PERF_TRACE_INTEL_PT,
	PERF_TRACE_INTEL_BTS,
	PERF_TRACE_CORESIGHT,
	PERF_TRACE_ARM_SPE,
	PERF_TRACE_S390,
	PERF_TRACE_HISI_PTT,
	PERF_TRACES,
};

/* What an EVENT_UPDATE says of its event. */
enum perf_update_type { PERF_UPDATE_UNIT, PERF_UPDATE_SCALE, PERF_UPDATE_NAME, PERF_UPDATE_CPUS };

/* Bits of adds_features, and ids of FEATURE records. */
enum perf_feature {
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CPUDESC = 8,
	PERF_FEATURE_CPUID = 9,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_PMU_MAPPINGS = 16,
	PERF_FEATURE_GROUP_DESC = 17,
	PERF_FEATURE_SAMPLE_TIME = 21,
	PERF_FEATURE_CLOCK_DATA = 29,
	PERF_FEATURE_FOREIGN = 128, /* and above: simpleperf's */
	PERF_FEATURE_BITS = 256,
};

/* attr.branch_sample_type bits that older kernel headers lack. */
#define PERF_BRANCH_CALL_STACK (UINT64_C(1) << 11)
#define PERF_BRANCH_HW_INDEX   (UINT64_C(1) << 17)
#define PERF_BRANCH_COUNTERS   (UINT64_C(1) << 19)

#define PERF_BUILD_ID_FIELD 24 /* of a BUILD_ID record: 20 bytes, their number, padding */
/* header.misc of a BUILD_ID record: the number of bytes is in the record. */
#define PERF_BUILD_ID_HAS_SIZE (1u << 15)
