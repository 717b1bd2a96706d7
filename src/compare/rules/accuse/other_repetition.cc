#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/single.h"
#include "compare/wiring/content.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;

constexpr std::uint64_t kMostNumbers = 1 << 24;  // of one tensor
constexpr std::size_t kMostTensors = 1000;       // that are read

// The random numbers that one run draws.
class Draws {
 public:
  explicit Draws(const dump::Runs& runs) : runs_(runs) {}

  // Says in words which operator of the forward pass an operator of the backward pass repeats with other
  // numbers. Returns nothing if one drew the same numbers, or if that is not known.
  std::optional<std::string> find_repeated(std::uint32_t again) {
    if (forward_.empty()) collect();
    const auto found = forward_.find(line_of(runs_.without_slots(again)));
    const auto numbers = numbers_of(again);
    if (found == forward_.end() || !numbers) return std::nullopt;
    std::vector<std::uint32_t> others;
    for (const std::uint32_t before : found->second) {
      const auto drawn = numbers_of(before);
      if (!drawn || drawn->hash == numbers->hash) return std::nullopt;
      if (drawn->dims == numbers->dims) others.push_back(before);
    }
    if (others.empty()) return std::nullopt;
    if (others.size() > 1)
      return "any of the " + std::to_string(others.size()) + " at that line of the forward pass";
    return one_line(operator_name(runs_.without_slots(others.front()))) + ", which it repeats";
  }

 private:
  // Rank, step, type and line of the program.
  using Line = std::tuple<std::uint32_t, std::int64_t, std::string, std::string, int>;
  struct Numbers {
    std::vector<std::int64_t> dims;
    std::size_t hash = 0;
  };

  static Line line_of(const OperatorRun& run) {
    return {run.rank, run.step, run.type, run.op->source_file, run.op->source_line};
  }

  void collect() {
    for (std::uint32_t i = 0; i < runs_.size(); ++i) {
      const OperatorRun run = runs_.without_slots(i);
      if (run.op != nullptr && run.op->phase == model::Phase::forward && !run.op->source_file.empty() &&
          model::has_trait(run.type, model::Trait::random))
        forward_[line_of(run)].push_back(i);
    }
  }

  std::optional<Numbers> numbers_of(std::uint32_t index) {
    if (const auto known = numbers_.find(index); known != numbers_.end()) return known->second;
    if (numbers_.size() == kMostTensors) return std::nullopt;
    const auto read = read_numbers(runs_[index], model::Side::output, 0, kMostNumbers);
    std::optional<Numbers>& numbers = numbers_[index];
    if (read)
      numbers =
          Numbers{.dims = read->dims,
                  .hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(read->values.data()),
                                                         read->values.size() * sizeof(double)})};
    return numbers;
  }

  const dump::Runs& runs_;
  std::map<Line, std::vector<std::uint32_t>> forward_;  // operators of the forward pass
  std::map<std::uint32_t, std::optional<Numbers>> numbers_;
};

// Where a backward pass computes a forward pass again, to save memory, its dropouts must drop the same
// elements.
class OtherRepetition : public RuleState {
 public:
  OtherRepetition(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const Accusation* const standing = ledger.first_bad();
    if (standing == nullptr) return;
    Draws golden(study_.golden->runs()), actual(study_.actual->runs());
    for (std::size_t place = 0; place < study_.pairs.size(); ++place) {
      const OperatorPair& pair = study_.pairs[place];
      if (pair.is_whole()) continue;
      const bool is_golden = pair.golden != OperatorPair::kNone;
      const dump::Runs& runs = (is_golden ? study_.golden : study_.actual)->runs();
      const std::uint32_t index = is_golden ? pair.golden : pair.actual;
      const OperatorRun run = runs.without_slots(index);
      if (run.op == nullptr || run.op->phase != model::Phase::backward ||
          !model::has_trait(run.type, model::Trait::random))
        continue;
      const auto repeated = (is_golden ? golden : actual).find_repeated(index);
      auto op = repeated ? make_single(study_, place) : std::nullopt;
      if (!op) continue;
      op->cause = std::string("only in ") + (is_golden ? "golden" : "actual") +
                  ", where it computes a forward pass again and draws other numbers than " + *repeated;
      op->rule = rule_.name;
      return ledger.accuse({.rule = rule_.name,
                            .op = std::move(*op),
                            .place = place,
                            .precedes =
                                [](const Accusation& self, const Accusation& earlier) {
                                  const Verdict verdict = earlier.op.verdict;
                                  return earlier.place >= self.place || verdict == Verdict::missing ||
                                         verdict == Verdict::extra;
                                },
                            .followers = "the other random numbers"});
    }
  }

 private:
  const Rule& rule_;
  const Study& study_;
};

}  // namespace

const Rule kOtherRepetition{
    .name = "other-repetition",
    .sentence =
        "random numbers that a backward pass draws again, and that are other ones than those of the forward "
        "pass that it repeats, as with gradient checkpointing that does not keep the random state",
    .stage = Stage::accuse,
    .applies = [](const Study& study) { return study.is_plain(); },
    .begin = begin_state<OtherRepetition>};

}  // namespace opdump::compare
