/* The tool as a library of its own. */
#include "tool.h"
