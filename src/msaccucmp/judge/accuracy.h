// The ten metrics of msaccucmp as it prints them (cann.md 4.7): the numbers are math/metrics/numpy_metrics.h,
// the spellings and complaints are here.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::msaccucmp {

enum class Accuracy : std::uint8_t {
  cosine,
  max_absolute,
  accumulated_relative,
  relative_euclidean,
  divergence,
  deviation,
  mean_absolute,
  root_mean_square,
  max_relative,
  mean_relative,
};
inline constexpr std::size_t kAccuracyCount = 10;

// In the order of the enum, which is that of the original's columns and of its numbers in -alg.
inline constexpr std::array<std::string_view, kAccuracyCount> kAccuracyNames = {
    "CosineSimilarity",          "MaxAbsoluteError",  "AccumulatedRelativeError", "RelativeEuclideanDistance",
    "KullbackLeiblerDivergence", "StandardDeviation", "MeanAbsoluteError",        "RootMeanSquareError",
    "MaxRelativeError",          "MeanRelativeError"};

struct AccuracyOptions {
  std::bitset<kAccuracyCount> wanted = std::bitset<kAccuracyCount>().set();
  std::string actual_name = "my", golden_name = "golden";  // for messages: the paths, in the original
  unsigned threads = 1;
  std::optional<bool> is_scalar;  // nothing: by the shapes
};

struct AccuracyRow {
  std::array<std::string, kAccuracyCount> values;   // "" where not wanted; "NaN" failed, "nan" is a number
  std::vector<std::string> messages;                // in the order of the metrics
  std::array<std::string, kAccuracyCount> reasons;  // the same by metric; "" for none
};

// Errors: unsupported -- the element counts differ, or a dtype is undefined.
Result<AccuracyRow> measure_accuracy(const model::TensorView& actual, const model::TensorView& golden,
                                     const AccuracyOptions& options);

}  // namespace opdump::msaccucmp
