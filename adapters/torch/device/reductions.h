// Statistics of tensors of devices, by torch's own reductions, on the stream of the program. Their results
// follow as copies do (staging.h): the program does not wait, and the tensor stays where it is.
#pragma once

#include <ATen/core/Tensor.h>

#include "device/staging.h"

namespace opdump::torch_adapter {

// Bits of opdump_statistic, for the recording that begins; 0: no statistics are computed on devices.
void set_device_statistics(int wanted);
int device_statistics();

// The owner of the numbers, for opdump_tensor.statistics.
struct StagedStatistics final : Staged {
  double numbers[4]{};  // max, min, avg, l2norm; once they have arrived
  void arrived() override;

 private:
  friend c10::intrusive_ptr<StagedStatistics> stage_statistics(const at::Tensor& tensor);
  at::Tensor sums;  // avg and l2norm; `host` has max and min
  int wanted = 0;
};
using StagedStatisticsPointer = c10::intrusive_ptr<StagedStatistics>;

// Begins to compute device_statistics() of a tensor that has elements. Null if there are none, the tensor is
// quantized, or the device does not know such an operator or has no events: then its values have to be
// copied.
StagedStatisticsPointer stage_statistics(const at::Tensor& tensor);

}  // namespace opdump::torch_adapter
