#include "names.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace opdump::torch_adapter {
namespace {

thread_local const char* current_mark = nullptr;

}  // namespace

Scope::Occurrences& Scope::occurrences_of(const char* type) {
  const auto known = std::ranges::find(occurrences_, type, &Occurrences::type);
  return known != occurrences_.end() ? *known : occurrences_.emplace_back(Occurrences{type});
}

Names::Names(opdump_session* session, std::string root, std::int64_t graph_id)
    : session_(session), graph_id_(graph_id) {
  gradients_.path_ = "Gradients/" + root;
  gradients_.phase_ = OPDUMP_BACKWARD;
  root_.path_ = std::move(root);
  root_.gradients_ = &gradients_;
}

Scope* Names::child(Scope* parent, const std::string& component, opdump_phase phase) {
  const std::lock_guard lock(mutex_);
  auto& scope = parent->children_[component];
  if (!scope) {
    scope = std::make_unique<Scope>();
    scope->path_ = parent->path_ + "/" + component;
    scope->phase_ = phase;
  }
  return scope.get();
}

Scope* Names::descend(Scope* scope, std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    scope = child(scope, std::string(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return scope;
}

Scope* Names::gradients_of(Scope* forward) {
  {
    const std::lock_guard lock(mutex_);
    if (forward->gradients_) return forward->gradients_;
  }
  // Below the root the path repeats behind the prefix: "Gradients/Default" + "/conv1-Conv2d".
  Scope* gradients =
      child(&gradients_,
            forward->path_.starts_with(root_.path_ + "/") ? forward->path_.substr(root_.path_.size() + 1)
                                                          : forward->path_,
            OPDUMP_BACKWARD);
  const std::lock_guard lock(mutex_);
  return forward->gradients_ = gradients;
}

std::optional<NamedOperator> Names::next_known(Scope* scope, const char* type) {
  const std::lock_guard lock(mutex_);
  Scope::Occurrences& seen = scope->occurrences_of(type);
  if (seen.step_number != step_number_) {
    seen.step_number = step_number_;
    seen.next = 0;
  }
  if (seen.next == seen.operators.size()) return std::nullopt;
  return seen.operators[seen.next++];
}

namespace {

std::string name_of(const std::string& scope, const char* type, std::size_t number) {
  return scope + "/" + type + "-op" + std::to_string(number);
}

}  // namespace

void Names::flag(const std::string& name) const {
  opdump_set_dump(session_, name.c_str(), (*model_flag_ ? OPDUMP_FLAG_ON : 0) | OPDUMP_FLAG_UNNAMED);
}

void Names::flag_model(bool enabled) {
  const std::lock_guard lock(mutex_);
  model_flag_ = enabled;
  for (const Scope* scope : {&root_, &gradients_})
    for (const Scope::Occurrences& seen : scope->occurrences_)
      for (std::size_t i = 0; i < seen.operators.size(); ++i)
        if (seen.operators[i].source.in_model) flag(name_of(scope->path_, seen.type, i));
}

const opdump_op* Names::define(const Scope& scope, const char* type, const std::string& name,
                               const Source& source) const {
  opdump_op_info info{};
  info.size = sizeof info;
  info.phase = scope.phase_;
  info.type = type;
  info.name = name.c_str();
  info.graph_id = graph_id_;
  info.source_file = source.file;
  info.source_line = source.line;
  info.original_names = current_mark ? &current_mark : nullptr;
  info.original_count = current_mark ? 1 : 0;
  if (source.stack) {
    info.frames = source.stack->data();
    info.frame_count = source.stack->size();
  }
  return opdump_define(session_, &info);
}

NamedOperator Names::define(Scope* scope, const char* type, std::uint64_t place, Source source) {
  const std::lock_guard lock(mutex_);
  Scope::Occurrences& seen = scope->occurrences_of(type);
  const std::string name = name_of(scope->path_, type, seen.operators.size());
  if (model_flag_ && source.in_model) flag(name);
  const opdump_op* const op = define(*scope, type, name, source);
  if (place != 0) keep(key_of(*scope, place, op), source);
  seen.operators.push_back({op, source, place, seen.operators.size()});
  seen.next = seen.operators.size();
  return seen.operators.back();
}

NamedOperator Names::move(Scope* scope, const char* type, std::size_t number, std::uint64_t place,
                          Source source) {
  const std::lock_guard lock(mutex_);
  NamedOperator& known = scope->occurrences_of(type).operators[number];
  source.in_model = known.source.in_model;
  keep(key_of(*scope, place, known.op), source);
  const bool is_there = source.file == known.source.file && source.line == known.source.line;
  known.source = source;
  known.place = place;
  if (source.file && !is_there) define(*scope, type, name_of(scope->path_, type, number), source);
  return known;
}

std::optional<Source> Names::find_known(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

void Names::keep(std::uint64_t key, Source source) {
  if (places_.size() < kMostPlaces) places_.emplace(key, source);
}

void Names::begin_step() {
  const std::lock_guard lock(mutex_);
  ++step_number_;
}

void set_mark(const char* mark) { current_mark = mark; }

const char* intern(std::string_view text) {
  static std::mutex mutex;  // guards texts
  static auto* texts =
      new std::unordered_set<std::string>;  // never destroyed: threads may outlive static objects
  const std::lock_guard lock(mutex);
  return texts->emplace(text).first->c_str();
}

const Stack* intern(Stack stack) {
  static std::mutex mutex;                    // guards stacks
  static auto* stacks = new std::set<Stack>;  // never destroyed, as above
  const std::lock_guard lock(mutex);
  return &*stacks->insert(std::move(stack)).first;
}

}  // namespace opdump::torch_adapter
