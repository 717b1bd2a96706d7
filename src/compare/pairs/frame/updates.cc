#include "compare/pairs/frame/updates.h"

#include <map>
#include <numeric>
#include <unordered_map>

#include "compare/names.h"

namespace opdump::compare {
namespace {

constexpr std::uint32_t kSeveral = OperatorPair::kNone;  // executions have one number

// Sets of executions that grow together.
class Unions {
 public:
  explicit Unions(std::uint32_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0u); }
  std::uint32_t find(std::uint32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> parents_;
};

class UpdateSearch {
 public:
  explicit UpdateSearch(const FrameRuns& part) : part_(part), unions_(part.size()) {
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      phases_.push_back(phase_of(part.runs->without_slots(part.first + i)));
      if (const std::uint32_t number = part.runs->operator_number(part.first + i); number != 0)
        if (const auto [known, is_new] = places_.try_emplace(number, i); !is_new) known->second = kSeveral;
    }
  }

  std::vector<ParameterUpdate> find() {
    for (std::uint32_t i = 0; i < part_.size(); ++i)
      if (phases_[i] == model::Phase::optimizer) connect(i);
    std::map<std::uint32_t, ParameterUpdate> updates;  // by what stands for the set
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < part_.size(); ++i) {
      if (phases_[i] != model::Phase::optimizer) continue;
      ParameterUpdate& update = updates[unions_.find(i)];
      if (update.operators.empty()) order.push_back(unions_.find(i));
      update.operators.push_back(i);
    }
    for (const auto& [source, reader] : readers_) updates[unions_.find(reader)].sources.push_back(source);
    std::vector<ParameterUpdate> found;
    for (const std::uint32_t set : order)
      if (!updates[set].sources.empty()) found.push_back(std::move(updates[set]));
    return found;
  }

 private:
  void connect(std::uint32_t i) {
    const auto wiring = part_.runs->wiring_of(part_.first + i);
    if (wiring == nullptr) return;
    for (const dump::CallWiring::Input& input : wiring->inputs) {
      if (input.maker) connect(i, *input.maker);
      for (const dump::CallWiring::Maker& maker : input.changed_by) connect(i, maker);
    }
  }

  void connect(std::uint32_t i, const dump::CallWiring::Maker& maker) {
    const auto place = places_.find(maker.number);
    if (place == places_.end() || place->second == kSeveral) return;
    if (phases_[place->second] != model::Phase::optimizer) {
      const auto [known, is_new] = readers_.try_emplace({place->second, maker.output, maker.steps_before}, i);
      if (!is_new) unions_.join(i, known->second);
    } else if (maker.steps_before == 0) {
      unions_.join(i, place->second);
    }
  }

  const FrameRuns& part_;
  Unions unions_;
  std::vector<model::Phase> phases_;
  std::unordered_map<std::uint32_t, std::uint32_t> places_;  // in the frame, by number of the operator
  std::map<UpdateSource, std::uint32_t> readers_;            // of sources, the first each
};

}  // namespace

std::vector<ParameterUpdate> find_updates(const FrameRuns& part) {
  return part.runs->have_wirings() ? UpdateSearch(part).find() : std::vector<ParameterUpdate>();
}

}  // namespace opdump::compare
