// scope - regions by scope, in C++: which container answers look-ups fastest, call by call.
//
// Each look-up is a region that begins where a culprit::scope is made and ends where it goes out
// of scope, by return or by exception. What begin and end cost themselves is measured when the
// thread joins, and subtracted; a look-up that is too short for what is left of that error is
// flagged in the output, with the size that could be measured.
//
// Without a PMU instructions cannot be counted, which the program says; the regions still have
// their time, from the CPU's own clock, in ns.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include <culprit/culprit.h>
#include <culprit/print.h>
#include <culprit/region.h>

namespace
{
constexpr int entries = 100000;
constexpr int lookups = 20000;

struct regions {
	culprit_regions *all = nullptr;
	regions()
	{
		culprit_error error;
		if (culprit_regions_open("instructions", nullptr, &all, &error)) {
			std::printf("times alone: %s\n", error.text);
			if (culprit_regions_open(nullptr, nullptr, &all, &error))
				throw std::runtime_error(error.text);
		}
		if (culprit_regions_join(all, &error)) {
			culprit_regions_close(all);
			throw std::runtime_error(error.text);
		}
	}
	~regions()
	{
		culprit_regions_leave(all);
		culprit_regions_close(all);
	}
	regions(const regions &) = delete;
	regions &operator=(const regions &) = delete;
	culprit_region *named(const char *name)
	{
		culprit_region *region = culprit_region_named(all, name);
		if (!region)
			throw std::runtime_error("no room for another region");
		return region;
	}
};

std::uint64_t checked(culprit_region *region, const std::map<std::uint64_t, std::uint64_t> &map,
		      std::uint64_t key)
{
	culprit::scope measured(region);
	return map.at(key); // throws when there is no such key: the scope ends all the same
}
} // namespace

int main()
try {
	regions regions;
	culprit_region *in_tree = regions.named("std::map");
	culprit_region *in_table = regions.named("std::unordered_map");
	culprit_region *in_vector = regions.named("sorted std::vector");

	std::mt19937_64 random(1);
	std::map<std::uint64_t, std::uint64_t> tree;
	while (tree.size() < entries)
		tree.emplace(random() | 1, tree.size()); // odd keys only
	std::unordered_map<std::uint64_t, std::uint64_t> table(tree.begin(), tree.end());
	std::vector<std::pair<std::uint64_t, std::uint64_t>> vector(tree.begin(), tree.end());

	std::uint64_t sum = 0;
	int missing = 0;
	for (int i = 0; i < lookups; i++) {
		std::uint64_t key = vector[random() % vector.size()].first;
		try {
			sum += checked(in_tree, tree, i % 100 ? key : key - 1);
		} catch (const std::out_of_range &) {
			missing++;
		}
		{
			culprit::scope measured(in_table);
			sum += table.find(key)->second;
			CULPRIT_KEEP(sum);
		}
		{
			culprit::scope measured(in_vector);
			sum += std::lower_bound(vector.begin(), vector.end(),
						std::make_pair(key, UINT64_C(0)))
				       ->second;
			CULPRIT_KEEP(sum);
		}
	}
	std::printf("%d look-ups of each, %d keys were missing\n", lookups, missing);
	return culprit_regions_print(regions.all, nullptr, stdout) ? 1 : 0;
} catch (const std::exception &failure) {
	std::fprintf(stderr, "scope: %s\n", failure.what());
	return 1;
}
