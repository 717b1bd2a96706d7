// Judges two dumps: pairs operators, measures every pair of tensors, names the first operator that went
// wrong. Fails closed: what has no partner is in the result, and nothing compared is never a success.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dump/dump_set.h"
#include "math/metrics.h"

namespace opdump::compare {

// Why a slot or an operator got its verdict. A later row never hides an earlier one.
enum class Verdict : std::uint8_t {
  match,           // within tolerance
  inherited,       // output differs, and so does an input: the fault lies before
  own_error,       // output differs although every input that could be compared matches
  input_differs,   // only inputs differ (slots), outputs recovered or were not dumped
  not_comparable,  // shapes differ, no data on one side, torn file
  missing,         // only in golden
  extra,           // only in actual
};
inline constexpr std::string_view kVerdictNames[] = {
    "match", "inherited", "own_error", "input_differs", "not_comparable", "missing", "extra"};

struct SlotComparison {
  const dump::Slot* golden = nullptr;  // null if extra
  const dump::Slot* actual = nullptr;  // null if missing
  Verdict verdict = Verdict::match;
  bool from_statistics = false;  // compared max, min, ... because a tensor is missing on one side
  std::optional<math::Metrics> metrics;
  std::string reason;  // for people: "shape (2,3) against (3,2)", "Max Value 1.5 against 1.7"
};

struct OperatorComparison {
  const dump::OperatorRun* golden = nullptr;
  const dump::OperatorRun* actual = nullptr;
  Verdict verdict = Verdict::match;
  std::vector<SlotComparison> slots;
};

struct Coverage {
  std::uint64_t golden_operators = 0, actual_operators = 0, paired_operators = 0;
  std::uint64_t golden_slots = 0, compared_slots = 0, compared_bytes = 0;
};

struct Comparison {
  std::vector<OperatorComparison> operators;  // in golden order of execution, extras where they ran
  std::optional<std::size_t> first_bad;       // index of the first own_error, else of the first mismatch
  Coverage coverage;
  std::vector<std::string> incomplete;  // why the answer may not be whole: torn files, an interrupted run
};

struct Options {
  std::optional<double> rtol, atol;  // override the table by dtype
  unsigned threads = 0;              // 0: all cores
  std::function<void(std::uint64_t done, std::uint64_t total)>
      progress;  // bytes; may be empty; one thread at a time
};

// Errors: only internal; data that cannot be compared becomes verdicts.
Result<Comparison> compare_dumps(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                 const Options& options);

// The tolerance for a golden dtype: float16 1e-3/1e-5, bfloat16 1.6e-2/1e-5, float32 1.3e-6/1e-5, float64
// 1e-7/1e-7 (rtol/atol; the ones torch.testing.assert_close uses), integers and bool exact.
math::Tolerance default_tolerance(model::DType dtype);

}  // namespace opdump::compare
