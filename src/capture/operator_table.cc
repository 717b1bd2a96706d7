#include "capture/operator_table.h"

#include <algorithm>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "base/text/text.h"
#include "dump/pruned_log.h"
#include "plan/type_names.h"

namespace opdump::capture {

std::size_t OperatorTable::Hash::operator()(const Key& key) const {
  const std::hash<std::string_view> hash;
  return hash(key.name) ^ hash(key.type) << 1 ^ static_cast<std::size_t>(key.graph_id) * 0x9E3779B97F4A7C15u;
}

OperatorTable::OperatorTable(Options options, dump::OperatorLogWriter log, const RecordingState& state)
    : only_flagged_(options.only_flagged),
      state_(state),
      selector_(std::move(options.operators)),
      models_(std::move(options.models)),
      log_writer_(std::move(log)) {}

const DefinedOperator* OperatorTable::define(dump::LoggedOperator op) {
  const std::lock_guard lock(mutex_);
  if (const auto known = operators_.find({op.graph_id, op.type, op.name}); known != operators_.end()) {
    note_source(*known->second, std::move(op));
    return known->second.get();
  }
  auto defined = std::make_unique<DefinedOperator>();
  defined->op = std::move(op);
  defined->choice = models_.choose(defined->op);
  defined->selected = defined->choice.wanted && selector_.wants(defined->op.name) && is_flagged(defined->op);
  if (defined->op.task == 0) defined->op.task = operators_.size();
  const DefinedOperator* const result = defined.get();
  operators_.emplace(Key{result->op.graph_id, result->op.type, result->op.name}, std::move(defined));
  if (result->selected) log(*result);
  return result;
}

void OperatorTable::note_source(DefinedOperator& known, dump::LoggedOperator op) {
  if (op.source_file.empty()) return;
  const std::string source = model::format_source(op);
  const bool is_same =
      source == (known.last_source.empty() ? model::format_source(known.op) : known.last_source);
  if (is_same || state_.stopped || !known.selected) return;
  known.last_source = source;
  op.since = state_.step_number();
  log_writer_.add(op);
  log_dirty_ = true;
}

void OperatorTable::log(const DefinedOperator& op) {
  if (state_.stopped) return;
  log_writer_.add(op.op);
  log_dirty_ = true;
}

// Scopes and whole names of operators contain a '/', types do not.
bool OperatorTable::names_type(std::string_view text, std::string_view type) {
  return text.find('/') == std::string_view::npos && plan::is_type(type, text);
}

// Flags are inherited: that of the operator itself, else of its type, else of the innermost scope that has
// one. Gradients follow what they are gradients of. The root scope is the model: its flag is none of an
// optimizer's.
bool OperatorTable::is_flagged(const model::Operator& op) const {
  if (!only_flagged_) return true;
  std::string_view name = op.name;
  if (!flags_.contains(name)) name = model::without_gradients(name);
  if (const auto flag = flags_.find(name); flag != flags_.end()) return flag->second.enabled;
  for (const auto& [type, flag] : flags_)
    if (names_type(type, op.type)) return flag.enabled;
  for (;;) {
    if (const auto flag = flags_.find(name); flag != flags_.end()) return flag->second.enabled;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return false;
    name = name.substr(0, slash);
    if (op.phase == model::Phase::optimizer && name.find('/') == std::string_view::npos) return false;
  }
}

void OperatorTable::set_dump(std::string_view name, bool enabled, bool is_unnamed) {
  const std::lock_guard lock(mutex_);
  Flag& flag = flags_.try_emplace(std::string(name), Flag{enabled, is_unnamed}).first->second;
  if (!is_unnamed || flag.is_unnamed) flag = {enabled, is_unnamed};
  if (!only_flagged_) return;
  for (auto& [key, op] : operators_) {
    const bool was_selected = op->selected.exchange(op->choice.wanted && is_flagged(op->op));
    if (!was_selected && op->selected) log(*op);
  }
}

std::string OperatorTable::define_model(std::int64_t graph_id, plan::ModelSelector::ModelNames names) {
  const std::lock_guard lock(mutex_);
  models_.define_model(graph_id, std::move(names));
  return std::string(models_.directory_name(graph_id));
}

std::string OperatorTable::model_directory(std::int64_t graph_id) const {
  const std::lock_guard lock(mutex_);
  return std::string(models_.directory_name(graph_id));
}

bool OperatorTable::wants_constant(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return !only_flagged_ && selector_.wants("Default/" + name);
}

std::vector<std::string> OperatorTable::list_requested() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const plan::OpSelector::SelectorRule& rule : selector_.rules())
    if (rule.kind == plan::RuleKind::name || rule.kind == plan::RuleKind::type) names.push_back(rule.text);
  std::set<std::string> hits;
  for (const auto& [key, op] : operators_)
    if (op->selected && (only_flagged_ || selector_.matches_regex(op->op.name))) hits.insert(op->op.name);
  names.insert(names.end(), hits.begin(), hits.end());
  if (names.empty() && only_flagged_) names.emplace_back("NoSetDumpTarget");
  return names;
}

void OperatorTable::log_undumped(const DefinedOperator& op, std::int64_t step, model::Side side,
                                 const Operand& operand, std::string_view reason) {
  const std::uint32_t number = operand.index * 2 + static_cast<std::uint32_t>(side);
  const std::uint64_t bit = number < 64 ? std::uint64_t{1} << number : 0;
  if (state_.stopped || (op.undumped_bits.load(std::memory_order_relaxed) & bit) != 0) return;
  const std::lock_guard lock(mutex_);
  if (bit != 0 ? (op.undumped_bits.fetch_or(bit) & bit) != 0 : !op.undumped.insert(number).second) return;
  log_writer_.add(dump::UndumpedSlot{op.op.name, op.op.graph_id, step, side, operand.index,
                                     operand.view.dtype, operand.view.shape, std::string(reason)});
  log_dirty_ = true;
}

void OperatorTable::log_call(const DefinedOperator& op, std::int64_t step, dump::CallForm form) {
  if (state_.stopped) return;
  const std::lock_guard lock(mutex_);
  log_writer_.add(dump::LoggedForm{op.op.name, op.op.graph_id, step, std::move(form)});
  log_dirty_ = true;
}

void OperatorTable::log_layout(const DefinedOperator& op, std::int64_t step, dump::CallLayout layout) {
  if (state_.stopped) return;
  const dump::LoggedLayout logged{op.op.name, op.op.graph_id, step, std::move(layout)};
  const std::lock_guard lock(mutex_);
  log_writer_.add(logged);
  log_dirty_ = true;
}

void OperatorTable::log_wiring(const DefinedOperator& op, std::int64_t step, dump::CallWiring wiring) {
  if (state_.stopped) return;
  const dump::LoggedWiring logged{op.op.name, op.op.graph_id, step, std::move(wiring)};
  const std::lock_guard lock(mutex_);
  log_writer_.add(logged);
  log_dirty_ = true;
}

Result<> OperatorTable::flush_log() {
  const std::lock_guard lock(mutex_);
  return std::exchange(log_dirty_, false) ? log_writer_.flush() : ok();
}

Result<> OperatorTable::prune_log(const std::filesystem::path& rank_directory, std::int64_t step) {
  constexpr std::uint64_t kWorthIt = 1 << 20;
  const std::lock_guard lock(mutex_);
  std::error_code failure;
  const std::uint64_t bytes = std::filesystem::file_size(rank_directory / dump::kOperatorLogName, failure);
  if (failure || bytes < 2 * pruned_bytes_ + kWorthIt) return ok();
  OPDUMP_CHECK_OK(log_writer_.flush());
  OPDUMP_TRY(pruned_bytes_, dump::prune_operator_log_file(rank_directory, step));
  OPDUMP_TRY(log_writer_, dump::OperatorLogWriter::open(rank_directory));
  return ok();
}

bool OperatorTable::is_empty() const {
  const std::lock_guard lock(mutex_);
  return operators_.empty();
}

bool OperatorTable::lacks_flags() const {
  const std::lock_guard lock(mutex_);
  return only_flagged_ && std::ranges::none_of(flags_, [](const auto& flag) { return flag.second.enabled; });
}

std::vector<std::string> OperatorTable::describe_unmatched() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string_view> names;
  for (const auto& [key, op] : operators_) names.push_back(op->op.name);
  std::vector<std::string> sentences;
  if (only_flagged_) describe_unmatched_flags(names, sentences);
  for (std::string& text : plan::describe_unmatched(selector_, names)) sentences.push_back(std::move(text));
  for (std::string& text : models_.describe_unmatched(names)) sentences.push_back(std::move(text));
  return sentences;
}

void OperatorTable::describe_unmatched_flags(const std::vector<std::string_view>& names,
                                             std::vector<std::string>& sentences) const {
  constexpr std::size_t kHints = 3;
  std::set<std::string_view> known;  // operators and their scopes
  for (std::string_view name : names)
    for (std::size_t end = name.size(); end != std::string_view::npos && known.insert(name).second;) {
      end = name.rfind('/');
      name = name.substr(0, end);
    }
  std::set<std::string_view> types;
  for (const auto& [key, op] : operators_) types.insert(key.type);
  for (const auto& [name, flag] : flags_) {
    const auto is_its_type = [&name = name](std::string_view type) { return names_type(name, type); };
    if (flag.is_unnamed || known.contains(name) || std::ranges::any_of(types, is_its_type)) continue;
    const auto& similar_kind = name.find('/') == std::string::npos ? types : known;
    const std::vector<std::string_view> list(similar_kind.begin(), similar_kind.end());
    const auto similar = find_similar(name, list, kHints);
    sentences.push_back("no operator matched '" + name + "' of set_dump()" +
                        (similar.empty() ? "" : "; nearest: " + join_or(similar)));
  }
}

}  // namespace opdump::capture
