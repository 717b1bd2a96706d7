// A door for stats_vs_numpy.py, so that NumPy and we run in one process on the same memory.
#include <cstdint>

#include "math/stats.h"

// `out` receives max, min, avg, l2norm. `all` also counts.
extern "C" __attribute__((visibility("default"))) void opdump_bench_stats(int dtype, const void* data,
                                                                          std::int64_t count, int all,
                                                                          double* out) {
  using namespace opdump;
  const auto view = model::TensorView::row_major(static_cast<model::DType>(dtype), {count}, data);
  const math::StatNeeds needs{true, all != 0, true, all != 0};
  const math::Statistics stats = math::finish(math::partial_stats(view, needs));
  out[0] = stats.max;
  out[1] = stats.min;
  out[2] = stats.avg;
  out[3] = stats.l2norm;
}
