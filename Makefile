# Everything that one does with Sunstar. `make help` lists the targets.
#
# cargo follows the dependencies of Rust sources, the Makefiles beside the C parts those of the C sources. The
# tools that a target needs are looked for first (and installed, as root on Debian): scripts/bootstrap.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
unexport CARGO_TARGET_DIR # built things are found under target/

# cargo as the bootstrap found it, and quiet unless something goes wrong.
cargo := PATH="$$(cat build/toolchain):$$PATH" cargo
# For release builds, which know what runs use once `make tune` has written that down. Functions that have changed
# since then are compiled without.
profile := $(firstword $(wildcard build/profile/*.profdata))
tuned := -C profile-use=$(CURDIR)/$(profile) -C llvm-args=-no-pgo-warn-mismatch
release := $(if $(profile),RUSTFLAGS="$$RUSTFLAGS $(tuned)") $(cargo)
# What is made by cargo, and what by other compilers; `make dist` makes both anew, elsewhere.
target := target
parts := build
sunstar := $(target)/release/sunstar
# Pico-MPI's library is loaded into programs: it has no fixed addresses, and so a target folder of its own.
pico := SUNSTAR_RELOCATION=pic $(cargo) rustc --quiet --release --target-dir $(parts)/pico --package pico --crate-type staticlib

##@ Use
.PHONY: run
run: build ## Build, and run an MPI ping-pong on two nodes of machine redstorm
	@$(sunstar) run -n 2 --machine redstorm examples/pingpong.c

.PHONY: build
build: tools parts ## Build everything that a user needs
	@[ -x $(sunstar) ] || echo "Building $(sunstar) (the first time takes some four minutes)"
	@$(release) build $(if $(wildcard $(sunstar)),--quiet) --release --target-dir $(target) --bin sunstar

# Images of the steps from the first firmware on (crates/app/cli/src/bench/rungs.rs). They stand here because the hash
# of each image has the firmware's own Makefile in it.
climb := CACHE=none,INLINE=off,SHADOW_FIFOS=off,PINNED_REGS=off CACHE=i,INLINE=off,SHADOW_FIFOS=off,PINNED_REGS=off \
    INLINE=off,SHADOW_FIFOS=off,PINNED_REGS=off SHADOW_FIFOS=off,PINNED_REGS=off

# Names that makefiles look for; by them the command is one of its verbs (crates/app/cli/src/args/names.rs).
names := mpicc mpicxx mpic++ mpifort mpif90 mpif77 mpirun mpiexec

.PHONY: tune
tune: tune-tools parts ## Build anew for speed: the compiler is told what runs use (4 min)
	@scripts/tune
	@$(MAKE) build

.PHONY: install
install: build ## Install to PREFIX (/usr/local)
	@$(MAKE) --silent -C firmware/seastar BUILD=$(abspath $(parts))/firmware variants
	@for options in $(climb); do \
	    $(MAKE) --silent -C firmware/seastar BUILD=$(abspath $(parts))/firmware $$(echo $$options | tr , ' ') || exit 1; done
	@scripts/dist/examples $(parts)
	@scripts/dist/install $(sunstar) $(parts) "$(DESTDIR)$(PREFIX)" $(names)

.PHONY: dist
dist: tools ## Packages, in dist: a wheel, a tarball, a .deb, a Containerfile (10 min)
	@scripts/dist/build

##@ Parts
.PHONY: fw
fw: build ## Build the firmware and show its sizes and its SRAM budget
	@$(sunstar) fw

# What the command finds beside itself: the libraries that programs load, and the firmware; and its other names.
.PHONY: parts
parts: tools
	@mkdir -p build/bin && for name in $(names); do ln -sf ../../$(sunstar) build/bin/$$name; done
	@for part in lib/seam lib/mpi lib/mpi-fortran lib/portals lib/verbs lib/fabric \
	    lib/dp lib/bypass; do $(MAKE) --silent -C $$part BUILD=$(abspath $(parts)) || exit 1; done
	@$(pico)
	@$(MAKE) --silent -C lib/pico BUILD=$(abspath $(parts))
	@$(MAKE) --silent -C firmware/seastar BUILD=$(abspath $(parts))/firmware
	@$(MAKE) --silent -C firmware/crossbar BUILD=$(abspath $(parts))/firmware/crossbar
	@PATH="$$(cat build/toolchain):$$PATH" $(MAKE) --silent -C firmware/lanai BUILD=$(abspath $(parts))/firmware/lanai
	@$(MAKE) --silent -C firmware/offload BUILD=$(abspath $(parts))/firmware/offload

# The kernel of Linux guests; tests that need it are skipped, and counted, if it cannot be built.
.PHONY: guests
guests: test-tools
	@linux/kernel/prepare build/linux || echo "Tests that need the kernel of guests are skipped"

##@ Hardware
.PHONY: area
area: soak-tools ## Synthesise the ALPU and compare its size with the paper's
	@scripts/area

# Tests that are ended after a while, with all that they start.
tests := $(cargo) --config 'target."cfg(unix)".runner = "$(CURDIR)/scripts/test-program"' test --quiet

##@ Tests
.PHONY: test
test: test-tools parts guests ## Run all tests
	@{ $(MAKE) --silent test-without-rust >build/test-without-rust 2>&1 & \
	   $(cargo) test --quiet --workspace --tests --no-run; built=$$?; \
	   wait; cat build/test-without-rust; \
	   [ $$built = 0 ] && $(tests) --workspace --tests --no-fail-fast; echo "all ended $$?"; } 2>&1 \
	    | awk -f scripts/total.awk

# One processor is enough for these; tests in Rust are compiled beside them.
.PHONY: test-without-rust
test-without-rust:
	@$(MAKE) --silent -C firmware/seastar BUILD=$(CURDIR)/build/firmware test; echo "ended $$?"; \
	   $(MAKE) --silent -C firmware/lanai BUILD=$(CURDIR)/build/firmware/lanai test; echo "ended $$?"; \
	   $(MAKE) --silent -C firmware/offload BUILD=$(CURDIR)/build/firmware/offload test; echo "ended $$?"; \
	   rtl/alpu/test fast; echo "ended $$?"; \
	   rtl/rdma/test fast; echo "ended $$?"; \
	   rtl/crossbar/test fast; echo "ended $$?"

.PHONY: check
check: test-tools check-tools generated ## Formatting, lints, links in comments and generated files
	@$(cargo) fmt --check
	@$(cargo) clippy --quiet --workspace --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(cargo) doc --quiet --workspace --no-deps --document-private-items

.PHONY: generated
generated: tools
	@$(cargo) run --quiet --package abigen -- --check

.PHONY: generate
generate: tools ## Generate anew what comes from abi/
	@$(cargo) run --quiet --package abigen

.PHONY: soak
soak: soak-tools build ## Long tests: the ignored ones, all proofs, all synthesis
	@{ $(release) test --quiet --release --workspace --tests --no-fail-fast -- --ignored; echo "ended $$?"; \
	   $(MAKE) --silent -C firmware/seastar BUILD=$(CURDIR)/build/firmware soak-pair; echo "ended $$?"; \
	   rtl/alpu/test; echo "ended $$?"; \
	   rtl/rdma/test; echo "ended $$?"; \
	   rtl/crossbar/test; echo "all ended $$?"; } 2>&1 | awk -f scripts/total.awk

# A target is a test whose name begins with fuzz_ (crates/base/fuzz). One at a time, each for so many seconds; whatever
# takes more memory than this (KB) has found something.
SECONDS ?= 60
MEMORY ?= 8000000
.PHONY: fuzz
fuzz: test-tools parts ## Random inputs for all that reads other people's, SECONDS (60) a target
	@ulimit -v $(MEMORY) && SUNSTAR_FUZZ_SECONDS=$(SECONDS) $(cargo) test --quiet --workspace --no-fail-fast \
	    --lib --bins --test layouts --test seastar --test models -- fuzz_ --test-threads 1 --nocapture

.PHONY: bench
bench: bench-tools ## Tune for the sources as they are (make tune), and measure speed, beside SMPI's
	@if [ -z "$(profile)" ] || [ -n "$$(find crates -name '*.rs' -newer "$(profile)" -print -quit)" ]; \
	    then $(MAKE) tune; else $(MAKE) build; fi
	@echo "Whole runs with the tuned command (peers); all else with plain builds"
	@$(cargo) bench --quiet --workspace

##@ Housekeeping
.PHONY: clean
clean: ## Remove all that was built
	rm -rf build target dist

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## "; print "make TARGET, where TARGET is" } \
	    /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: tools test-tools soak-tools bench-tools tune-tools check-tools
tools:
	@scripts/bootstrap run
test-tools:
	@scripts/bootstrap test
soak-tools:
	@scripts/bootstrap soak
bench-tools:
	@scripts/bootstrap bench
tune-tools: tools
	@scripts/bootstrap tune
check-tools: tools
	@scripts/bootstrap check
