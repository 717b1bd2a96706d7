// What the numbers of a replay mean: is an operator's output what its inputs and rounding explain? The
// numbers are those of python/opdump/_replay; the tests are on docs/blame.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "blame/request.h"
#include "compare/wiring/tensor_print.h"

namespace opdump::blame {

struct Thresholds {
  double r = 8, rho = 64, alpha = 4;
};

// The error of one output against the result in float64 of the same inputs.
struct OutputError {
  std::uint32_t index = 0;
  std::uint64_t count = 0;             // elements
  std::optional<std::uint64_t> wrong;  // of a result that must be exact, or lost its finite values: how many
  // |e| / |t|, max e/t, and the bias in units of the roundoff: e the error, t what rounding explains.
  double r = 0, rho = 0, alpha = 0;
  double relative = 0;                                      // |e| / |y|
  double chance = 0;                                        // the bias that errors of size t have by chance
  std::vector<std::int64_t> worst;                          // index of the worst element
  double value = 0, reference = 0;                          // there: recorded, and in float64
  Thresholds limits;                                        // of rounding
  Thresholds certain = {.r = 32, .rho = 256, .alpha = 16};  // beyond them nothing but a fault is left
  // The largest error over the bound that rounding in whatever order has; set for sums of products.
  std::optional<double> beyond;
  bool is_sum = false;
  // Elements that are off by more than a last bit, while the installed torch makes all others as they are.
  std::uint64_t odd = 0;
  std::string precision;  // "TF32" if rounding the inputs to it explains the error; "bfloat16 sums" if the
                          // sums are rounded
};

// The error of an output of actual, |actual - golden|, as it was recorded and without a fault.
struct EndError {
  std::uint32_t index = 0;
  double before = 0, after = 0;
};

struct Replayed {
  bool is_done = false, is_random = false;
  bool has_ended = false;  // the worker, because of it
  std::string reason;      // why not
  // They are empty if both sides made again what was recorded, to the last bit.
  std::vector<OutputError> golden, actual;
  bool is_sum = false;  // then: of products
  // What golden's arguments change on actual's inputs; empty if they cannot be run with them, or if that was
  // not asked.
  std::vector<OutputError> argument;
  std::vector<std::pair<std::uint32_t, double>> shares;  // of the difference, by input; if asked
  std::vector<EndError> ends;                            // if asked
  // With the ends, what is in the outputs of actual now, by index.
  std::vector<std::pair<std::uint32_t, compare::TensorPrint>> made;
};

// An answer of the worker. Errors: internal -- it is not in the form that we know.
Result<Replayed> parse_replayed(std::string_view json);
// The answer to a request about an operator. If it ends the worker, it is one that cannot be run again.
// Errors: the others of `replay`; internal -- an answer is not in the form that we know.
Result<Replayed> run_again(const Replay& replay, std::string request);
// One to a request for the worker itself. Errors: config -- it could not; internal.
Result<> parse_acknowledged(std::string_view json);

// How far an error is beyond its limits: at most 1 is rounding. The text says which test it was: "error 2e+04
// times what rounding explains".
struct Excess {
  double factor = 0;
  bool is_certain = false;
  const OutputError* output = nullptr;  // the worst one
  std::string test = {};
  bool is_bias = false;  // no element is off by more than rounding explains, but all go the same way
};
Excess find_excess(const std::vector<OutputError>& outputs);

enum class Fault : std::uint8_t {
  none,
  actual,
  golden,
  both,    // each is wrong in its own way
  common,  // both are off by the same: what the replay computes is not what the operator stands for. An
           // equal bias is none: both runs sum in the same order.
};
struct Judgement {
  Fault fault = Fault::none;
  bool is_certain = false;
  Excess excess;  // of the side that is wrong, or of the worse one
};
Judgement judge(const Replayed& replayed);

}  // namespace opdump::blame
