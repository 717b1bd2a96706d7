#include "compare/pairs/frame/updates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "compare/facts/element_lists.h"
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
  explicit UpdateSearch(const FrameRuns& part) : part_(part), first_nodes_(part.size(), kSeveral) {
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      const dump::OperatorRun run = part.runs->without_slots(part.first + i);
      phases_.push_back(phase_of(run));
      if (phases_[i] == model::Phase::optimizer) add_nodes(i, run.type);
      if (const std::uint32_t number = part.runs->operator_number(part.first + i); number != 0)
        if (const auto [known, is_new] = places_.try_emplace(number, i); !is_new) known->second = kSeveral;
    }
    unions_ = Unions(static_cast<std::uint32_t>(nodes_.size()));
  }

  Updates find() && {
    for (std::uint32_t i = 0; i < part_.size(); ++i)
      if (phases_[i] == model::Phase::optimizer) connect(i);
    std::map<std::uint32_t, ParameterUpdate> updates;  // by what stands for the set
    std::vector<std::uint32_t> order;
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      ParameterUpdate& update = updates[unions_.find(node)];
      if (update.parts.empty()) order.push_back(unions_.find(node));
      update.parts.push_back(nodes_[node]);
    }
    for (const auto& [source, reader] : readers_) updates[unions_.find(reader)].sources.push_back(source);
    std::vector<ParameterUpdate> found, alone;
    for (const std::uint32_t set : order)
      (updates[set].sources.empty() ? alone : found).push_back(std::move(updates[set]));
    std::vector<std::pair<ParameterUpdate*, const ParameterUpdate*>> joined;
    for (const ParameterUpdate& update : alone)
      if (ParameterUpdate* const around = find_around(update, found)) joined.emplace_back(around, &update);
    for (const auto& [around, update] : joined)
      for (const UpdatePart& part : update->parts) around->counters.push_back(part.place);
    for (ParameterUpdate& update : found) std::ranges::sort(update.counters);
    return {std::move(found), std::move(lists_)};
  }

 private:
  void add_nodes(std::uint32_t i, const std::string& type) {
    first_nodes_[i] = static_cast<std::uint32_t>(nodes_.size());
    const auto lists = ElementLists::of(type, part_.runs->form_of(part_.first + i).get());
    for (std::uint32_t element = 0; element < (lists ? lists->size() : 1); ++element)
      nodes_.push_back({i, element});
    if (lists) lists_.emplace(i, *lists);
  }

  void connect(std::uint32_t i) {
    const auto wiring = part_.runs->wiring_of(part_.first + i);
    if (wiring == nullptr) return;
    const auto lists = lists_.find(i);
    for (const dump::CallWiring::Input& input : wiring->inputs) {
      std::uint32_t node = first_nodes_[i];
      if (lists != lists_.end()) {
        const auto element = lists->second.element_of_input(input.index);
        if (!element) continue;  // which all of them read
        node += *element;
      }
      if (input.maker) connect(node, *input.maker);
      for (const dump::CallWiring::Maker& maker : input.changed_by) connect(node, maker);
    }
  }

  void connect(std::uint32_t node, const dump::CallWiring::Maker& maker) {
    const auto place = places_.find(maker.number);
    if (place == places_.end()) {
      if (!is_of_optimizer(maker.name))
        read({OperatorPair::kNone, maker.output, maker.name, maker.steps_before}, node);
    } else if (place->second == kSeveral) {
      return;
    } else if (phases_[place->second] != model::Phase::optimizer) {
      read({place->second, maker.output, {}, maker.steps_before}, node);
    } else if (maker.steps_before == 0) {
      const auto lists = lists_.find(place->second);
      unions_.join(node, first_nodes_[place->second] +
                             (lists == lists_.end() ? 0 : lists->second.element_of_output(maker.output)));
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
      if (std::ranges::any_of(alone.parts, [&](const UpdatePart& part) {
            return update.parts.front().place < part.place && part.place < update.parts.back().place;
          }))
        around.insert(&update);
    return around.size() == 1 ? *around.begin() : nullptr;
  }

  const FrameRuns& part_;
  std::vector<UpdatePart> nodes_;                          // of the optimizer's operators
  std::vector<std::uint32_t> first_nodes_;                 // of each operator
  std::unordered_map<std::uint32_t, ElementLists> lists_;  // of operators that have some
  Unions unions_{0};                                       // of nodes
  std::vector<model::Phase> phases_;
  std::unordered_map<std::uint32_t, std::uint32_t> places_;  // in the frame, by number of the operator
  std::map<UpdateSource, std::uint32_t> readers_;            // of sources, the first each
};

}  // namespace

Updates find_updates(const FrameRuns& part) {
  return part.runs->have_wirings() ? UpdateSearch(part).find() : Updates();
}

}  // namespace opdump::compare
