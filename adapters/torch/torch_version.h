// Where versions of torch differ. Checked against the headers of 1.13 to 2.15.
#pragma once

#include <torch/version.h>

// Whether torch is at least version MAJOR.MINOR.
#define OPDUMP_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
