// How much more the outputs of an operator differ between two runs than what it reads. In dumps without
// tensors of inputs nothing can run again; an operator is suspect there that enlarges differences more than
// operators of its kind do in runs without a fault.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compare/comparison.h"
#include "model/dtype.h"

namespace opdump::compare {

// What differs, against what.
enum class GainOf : std::uint8_t {
  outputs,     // an output, against what the operator probably read: there are no inputs
  statistics,  // an output, against the inputs, all by their statistics
  data,        // an input that no operator of both runs made, against the outputs of all operators before
};
inline constexpr std::string_view kGainNames[] = {"outputs", "statistics", "data"};

struct Gain {
  GainOf of = GainOf::outputs;
  model::DType dtype = model::DType::undefined;  // the coarser one of the two runs
  std::uint32_t output = 0;                      // which, as far as kinds of operators have them apart
  // Of the L2 norm, and of the element that is off by most. Differences below the roundoff of `dtype`, and
  // below the sixth digit of statistics, count as that.
  double whole = 0, peak = 0;
  std::string slot;     // "output.0"
  double distance = 0;  // of the two runs' tensors, relative; `whole` is its ratio to that of the inputs
};

// "it differs 90 times as much as what it probably read, 12 times more than without a fault", of its slot.
std::string describe_gain(const Gain& gain, double excess);

// How far a tensor of one run is from that of the other.
struct Distance {
  // Both are relative: `whole` to the L2 norm, at most 1 for finite numbers; `peak`, of the element that is
  // off by most, to the mean.
  double whole = 0, peak = 0;
  double norm = 0;   // neither tensor has a larger one; 0 where that is not known
  double count = 0;  // elements
};

// Whether a slot has numbers of both runs to measure.
bool is_measurable(const SlotComparison& slot);

// What of a comparison is measured.
enum class GainSource : std::uint8_t {
  as_compared,
  outputs,     // as if the dumps had no inputs
  statistics,  // as if they had statistics instead of tensors
};

class GainMeter {
 public:
  explicit GainMeter(GainSource source = GainSource::as_compared) : source_(source) {}

  // Takes operators in golden's order of execution. Nothing is measured of those that only one run has or
  // that make no floating numbers.
  std::vector<Gain> measure(const OperatorComparison& op);
  // Whether what the next operator probably reads differs.
  bool has_difference() const;

 private:
  struct Recent {
    Distance made;                                 // the largest of its outputs
    std::shared_ptr<const dump::OperatorRun> run;  // of actual; null once the sizes of outputs are known
  };
  void begin_rank();
  void note_made(const OperatorComparison& op);
  Distance size_recent();

  const GainSource source_;
  std::uint32_t rank_ = 0;
  std::int64_t step_ = 0;
  std::deque<Recent> recent_;             // the last operators
  std::unordered_set<std::size_t> made_;  // statistics of actual's outputs: what reads them reads no data
  double largest_ = 0;                    // relative difference of all outputs
  // Relative differences of weights and the state of an optimizer, but for what hardly has digits in common:
  // in this step, and in steps before.
  double updated_ = 0, updated_before_ = 0;
};

// Of operators of one kind in runs without a fault.
struct GainSamples {
  static constexpr std::size_t kLargest = 8;

  std::uint64_t runs = 0;
  std::array<std::vector<double>, 2> largest;  // of `whole` and `peak`: those, in descending order

  void add(double whole, double peak);
  void merge(const GainSamples& other);
};

// By what they are of, the type of the numbers and the kind of operator with the output, if it is not the
// first one: "outputs", "float32", "batchnorm.1".
class GainTable {
 public:
  void add(std::string_view type, const Gain& gain);

  // The form in which python/opdump/blame_limits.json has them. Errors: config -- it is another one.
  static Result<GainTable> parse(std::string_view json);
  // Of limits, which have that as "gains"; of such a file without it, or no JSON, an error.
  static Result<GainTable> parse_limits(std::string_view json);
  std::string to_json() const;

  // How far a gain of an operator of `type` is beyond the limit, three times the 99.9th percentile, or
  // six times that of statistics: at most 1 is rounding. Kinds that were seen in few runs have the limit of
  // all kinds, if that is larger.
  double excess(std::string_view type, const Gain& gain) const;

 private:
  using Group = std::pair<std::string, std::string>;  // what of, type of numbers
  std::map<Group, std::map<std::string, GainSamples, std::less<>>> groups_;
  std::map<Group, GainSamples> all_;  // of all kinds
};

}  // namespace opdump::compare
