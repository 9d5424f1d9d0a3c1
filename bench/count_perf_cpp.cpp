// perf-cpp's part of bench count. count.sh makes a shared object of this and of perf-cpp's sources
// where $PERF_CPP is a folder that has them.
#include <perfcpp/event_counter.h>

extern "C" int perf_cpp_open(void);
extern "C" void perf_cpp_measure(void);

static perf::CounterDefinition definitions;
static perf::EventCounter *counter;

// The events of bench count. 0, or -1 when they cannot be counted.
int perf_cpp_open(void)
{
	try {
		counter = new perf::EventCounter{ definitions };
		const char *const events[] = { "page-faults", "task-clock", "context-switches",
					       "cpu-migrations" };
		for (const char *event : events)
			if (!counter->add(std::string{ event }))
				return -1;
		bool started = counter->start();
		counter->stop();
		return started ? 0 : -1;
	} catch (const std::exception &) {
		return -1;
	}
}

void perf_cpp_measure(void)
{
	counter->start();
	counter->stop();
}
