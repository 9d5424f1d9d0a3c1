# Thin wrappers around Meson and the scripts in tools/; CONTRIBUTING.md has the rest.
.PHONY: build demo test test-all coverage install clean

build: packages-build
	@tools/variant build

# A system-wide profile of a real workload, and where its cycles went.
demo: packages-build-demo
	@tools/variant build
	@tools/demo

# Suites unit, cli and system; the last line is "N passed, N failed, N skipped".
test: packages-build-test
	@tools/run-tests unit cli system

# The short forms of the longer suites.
test-all: packages-build-test packages-optional-test-all
	@tools/run-tests corpus lab fuzz sanitize browser soak bench

# One suite: make test-lab, make test-fuzz, ...
test-%: packages-build-test packages-optional-test-all
	@tools/run-tests $*

# Which lines of src/intake and src/collect the unit tests run without rights, and what remains.
coverage: packages-build-test
	@tools/coverage

install: build
	meson install -C build

clean:
	rm -rf build build-*

.PHONY: packages-build packages-build-test packages-build-demo packages-optional-test-all
packages-build:
	@tools/install-packages build
packages-build-test:
	@tools/install-packages build test
packages-build-demo:
	@tools/install-packages build demo
packages-optional-test-all:
	@tools/install-packages --optional test-all
