# Builds a module of the Myrinet card, OUT/NAME.ko, from the folder that includes this: against the kernel's TREE, with
# the C array PROGRAM of the control program that it loads.
TREE ?= ../../build/linux/current/tree
OUT ?= ../../build/linux/current/$(NAME)
PROGRAM ?= ../../build/firmware/lanai/$(ARRAY)
SOURCES := Kbuild $(wildcard *.[ch] ../card/*.[ch]) ../../firmware/lanai/include/abi_myrinet.h $(PROGRAM)
COMPAT := $(wildcard ../card/compat/*.h)
out := $(abspath $(OUT))

$(out)/$(NAME).ko: $(SOURCES) $(COMPAT) Makefile ../card/module.mk
	@mkdir -p $(out)/compat
	@cp $(SOURCES) $(out) && cp $(COMPAT) $(out)/compat
	@$(MAKE) --silent -C $(abspath $(TREE)) ARCH=um M=$(out) modules >$(out)/log 2>&1 \
	    || { cat $(out)/log >&2; exit 1; }
	@touch $@
