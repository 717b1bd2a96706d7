#include "compare/pairs/frame/updates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

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
    std::vector<ParameterUpdate> found, alone;
    for (const std::uint32_t set : order)
      (updates[set].sources.empty() ? alone : found).push_back(std::move(updates[set]));
    std::vector<std::pair<ParameterUpdate*, const ParameterUpdate*>> joined;
    for (const ParameterUpdate& update : alone)
      if (ParameterUpdate* const around = find_around(update, found)) joined.emplace_back(around, &update);
    for (const auto& [around, update] : joined)
      around->counters.insert(around->counters.end(), update->operators.begin(), update->operators.end());
    for (ParameterUpdate& update : found) std::ranges::sort(update.counters);
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
    if (place == places_.end()) {
      if (maker.steps_before == 0 && !is_of_optimizer(maker.name))
        read({OperatorPair::kNone, maker.output, maker.name, 0}, i);
    } else if (place->second == kSeveral) {
      return;
    } else if (phases_[place->second] != model::Phase::optimizer) {
      read({place->second, maker.output, {}, maker.steps_before}, i);
    } else if (maker.steps_before == 0) {
      unions_.join(i, place->second);
    }
  }

  void read(const UpdateSource& source, std::uint32_t reader) {
    const auto [known, is_new] = readers_.try_emplace(source, reader);
    if (!is_new) unions_.join(reader, known->second);
  }

  // The only update that is under way when an operator of `alone`, which counts steps, runs; null if there is
  // none.
  static ParameterUpdate* find_around(const ParameterUpdate& alone, std::vector<ParameterUpdate>& updates) {
    std::set<ParameterUpdate*> around;
    for (ParameterUpdate& update : updates)
      if (std::ranges::any_of(alone.operators, [&](std::uint32_t i) {
            return update.operators.front() < i && i < update.operators.back();
          }))
        around.insert(&update);
    return around.size() == 1 ? *around.begin() : nullptr;
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
