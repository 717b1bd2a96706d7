// A door for the Python scripts here, so that NumPy and we run in one process on the same memory.
#include <array>
#include <cstdint>
#include <vector>

#include "base/worker_pool.h"
#include "math/metrics/numpy_metrics.h"
#include "math/stats/stats.h"

using namespace opdump;

// `out` receives max, min, avg, l2norm. `all` also counts. Threads share the tensor in pieces, as those of a
// recording do.
extern "C" __attribute__((visibility("default"))) void opdump_bench_stats(int dtype, const void* data,
                                                                          std::int64_t count, int all,
                                                                          int threads, double* out) {
  const auto view = model::TensorView::row_major(static_cast<model::DType>(dtype), {count}, data);
  const math::StatNeeds needs{true, all != 0, true, all != 0};
  std::vector<model::TensorView> pieces{view};
  if (threads > 1) pieces = math::split_view(view, 4 << 20);
  std::vector<math::StatPartial> partials(pieces.size(), math::make_partial());
  parallel_for(pieces.size(), static_cast<unsigned>(threads),
               [&](std::size_t i) { partials[i] = math::partial_stats(pieces[i], needs); });
  for (std::size_t i = 1; i < partials.size(); ++i) math::merge(partials[0], partials[i]);
  const math::Statistics stats = math::finish(partials[0]);
  out[0] = stats.max;
  out[1] = stats.min;
  out[2] = stats.avg;
  out[3] = stats.l2norm;
}

// Two tensors; `out` receives 13 numbers: the ten metrics in the original's order, with means and
// deviations of both sides for the sixth.
extern "C" __attribute__((visibility("default"))) void opdump_bench_metrics(
    int actual_dtype, const void* actual, int golden_dtype, const void* golden, std::int64_t count,
    int divergence, int threads, double* out) {
  const auto view = [&](int dtype, const void* data) {
    return model::TensorView::row_major(static_cast<model::DType>(dtype), {count}, data);
  };
  const auto metrics = math::numpy_metrics(view(actual_dtype, actual), view(golden_dtype, golden),
                                           {true, true, divergence != 0}, static_cast<unsigned>(threads));
  const std::array<double, 13> values = {metrics->cosine,
                                         metrics->max_absolute,
                                         metrics->accumulated_relative,
                                         metrics->relative_euclidean,
                                         metrics->divergence,
                                         metrics->actual_mean,
                                         metrics->actual_deviation,
                                         metrics->golden_mean,
                                         metrics->golden_deviation,
                                         metrics->mean_absolute,
                                         metrics->root_mean_square,
                                         metrics->max_relative,
                                         metrics->mean_relative};
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
}
