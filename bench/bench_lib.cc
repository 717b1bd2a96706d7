// A door for the Python scripts here, so that NumPy and we run in one process on the same memory.
#include <array>
#include <cstdint>

#include "math/numpy_metrics.h"
#include "math/stats.h"

using namespace opdump;

// `out` receives max, min, avg, l2norm. `all` also counts.
extern "C" __attribute__((visibility("default"))) void opdump_bench_stats(int dtype, const void* data,
                                                                          std::int64_t count, int all,
                                                                          double* out) {
  const auto view = model::TensorView::row_major(static_cast<model::DType>(dtype), {count}, data);
  const math::StatNeeds needs{true, all != 0, true, all != 0};
  const math::Statistics stats = math::finish(math::partial_stats(view, needs));
  out[0] = stats.max;
  out[1] = stats.min;
  out[2] = stats.avg;
  out[3] = stats.l2norm;
}

// Two float32 tensors; `out` receives 13 numbers: the ten metrics in the original's order, with means and
// deviations of both sides for the sixth.
extern "C" __attribute__((visibility("default"))) void opdump_bench_metrics(
    const void* actual, const void* golden, std::int64_t count, int divergence, int threads, double* out) {
  const auto view = [&](const void* data) {
    return model::TensorView::row_major(model::DType::float32, {count}, data);
  };
  const auto metrics = math::numpy_metrics(view(actual), view(golden), {true, true, divergence != 0},
                                           static_cast<unsigned>(threads));
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
