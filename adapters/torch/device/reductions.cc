#include "device/reductions.h"

#include <ATen/ATen.h>
#include <c10/core/DynamicCast.h>

#include <atomic>
#include <exception>
#include <utility>

#include "opdump/opdump.h"

namespace opdump::torch_adapter {
namespace {

std::atomic<int> wanted_statistics{0};

using Results = c10::SmallVector<at::Tensor, 2>;  // without dimensions, on the device

Results find_extremes(const at::Tensor& tensor, int wanted) {
  constexpr int kBoth = OPDUMP_STATISTIC_MAX | OPDUMP_STATISTIC_MIN;
  if ((wanted & kBoth) == kBoth) {  // in one pass
    auto [min, max] = at::aminmax(tensor);
    return {std::move(max), std::move(min)};
  }
  if (wanted & OPDUMP_STATISTIC_MAX) return {at::amax(tensor)};
  if (wanted & OPDUMP_STATISTIC_MIN) return {at::amin(tensor)};
  return {};
}

Results find_sums(const at::Tensor& tensor, int wanted) {
  const bool keeps_type = at::isFloatingType(tensor.scalar_type()) &&
                          (wanted & OPDUMP_STATISTIC_LOW || tensor.scalar_type() == at::kDouble);
  const at::ScalarType type = keeps_type ? tensor.scalar_type() : at::kFloat;
  Results sums;
  if (wanted & OPDUMP_STATISTIC_AVG) sums.push_back(at::mean(tensor, type));
  if (wanted & OPDUMP_STATISTIC_L2NORM)
    sums.push_back(at::linalg_vector_norm(tensor, 2, c10::nullopt, false, type));
  return sums;
}

// On its way to the host; undefined if there is nothing.
at::Tensor send(const Results& results) {
  if (results.empty()) return {};
  const at::Tensor sent = at::stack(results);
  at::Tensor host = make_buffer(sent);
  host.copy_(sent, /*non_blocking=*/true);
  return host;
}

double read_number(const at::Tensor& host, std::int64_t index) {
  const auto* bytes = static_cast<const char*>(host.data_ptr()) + index * host.itemsize();
  return c10::fetch_and_cast<double>(host.scalar_type(), bytes);
}

}  // namespace

void set_device_statistics(int wanted) { wanted_statistics = wanted; }

int device_statistics() { return wanted_statistics.load(std::memory_order_relaxed); }

// No operator may run here: the thread is the recorder's.
void StagedStatistics::arrived() {
  const at::Tensor* sources[] = {&host, &host, &sums, &sums};
  std::int64_t next[2] = {};
  for (int i = 0; i < 4; ++i)
    if (wanted & 1 << i) numbers[i] = read_number(*sources[i], next[i / 2]++);
}

StagedStatisticsPointer stage_statistics(const at::Tensor& tensor) {
  int wanted = device_statistics();
  if (wanted == 0 || tensor.is_quantized()) return {};
  // The tables have null for these, whatever the numbers are.
  const at::ScalarType dtype = tensor.scalar_type();
  if (dtype == at::kBool) wanted &= ~OPDUMP_STATISTIC_AVG;
  if (!at::isFloatingType(dtype) || dtype == at::kDouble) wanted &= ~OPDUMP_STATISTIC_L2NORM;
  const StagingGuard guard;
  try {
    std::optional<c10::Event> arrival = make_event(tensor.device());
    if (!arrival) return {};
    auto staged = c10::make_intrusive<StagedStatistics>();
    staged->wanted = wanted;
    staged->host = send(find_extremes(tensor, wanted));
    staged->sums = send(find_sums(tensor, wanted));
    staged->send_off(std::move(*arrival), tensor.device());
    return staged;
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace opdump::torch_adapter
