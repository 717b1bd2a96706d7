// Names of operators, the same in every step and in every run. Independent of torch.
//
//   Default/features-Sequential/6-Conv2d/convolution-op0
//   |       '------ scope -----------'   |           '-- the number within this type, scope and step
//   root                                 type
//
// The number counts within the scope and not over the whole program: an additional operator in one layer then
// changes no other name, and two runs that differ in a detail still pair. Backward operators have the scope
// "Gradients/" + the forward scope.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opdump/opdump.h"

namespace opdump::torch_adapter {

// Calls of the watched program, innermost first: "train.py:31:Net.forward". Texts live for ever (see intern).
using Stack = std::vector<const char*>;

// A line of the watched program. What it points to lives for ever.
struct Source {
  const char* file = nullptr;  // null: unknown
  int line = 0;
  const Stack* stack = nullptr;  // the calls that led there; null: unknown
  bool in_model = false;         // right in the model: inside of its call, in no module of it
};

struct NamedOperator {
  const opdump_op* op;
  Source source;            // where it was called last
  std::uint64_t place = 0;  // the number of that place; 0: unknown
  std::size_t number = 0;   // within its type, scope and step
};

// A place in the program: a module call, an optimizer, the gradients of a module. Lives as long as its Names.
class Scope {
 public:
  const std::string& path() const { return path_; }
  opdump_phase phase() const { return phase_; }

 private:
  friend class Names;
  struct Occurrences {
    const char* type = nullptr;
    std::uint64_t step_number = 0;  // when `next` was last reset
    std::size_t next = 0;
    std::vector<NamedOperator> operators = {};
  };
  Occurrences& occurrences_of(const char* type);

  std::string path_;
  opdump_phase phase_ = OPDUMP_FORWARD;
  Scope* gradients_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Scope>> children_;
  std::vector<Occurrences> occurrences_;  // by type; most scopes have a few
};

// Thread-safe.
class Names {
 public:
  // `root` is the path of everything: "Default", or "Default/worker0" in a data-loading process.
  // `graph_id`: the model that the operators belong to, or OPDUMP_NO_GRAPH.
  Names(opdump_session* session, std::string root, std::int64_t graph_id);

  Scope* root() { return &root_; }
  const Scope* root() const { return &root_; }
  Scope* child(Scope* parent, const std::string& component, opdump_phase phase = OPDUMP_FORWARD);
  // The scope `path`, components separated by '/', below `scope`; `scope` itself if it is empty.
  Scope* descend(Scope* scope, std::string_view path);
  Scope* gradients_of(Scope* forward);

  // The operator that runs now: the next one of its type in the scope. `type` comes from intern(): overloads
  // share it. `place`: a number for where the program calls it; 0 if that is not worth asking for.
  // find_source() -> Source is asked for a new operator, and for one that is called from a new place.
  template <typename F>
  NamedOperator next_operator(Scope* scope, const char* type, std::uint64_t place, F&& find_source) {
    const auto known = next_known(scope, type);
    if (known && (place == 0 || known->place == place)) return *known;
    // find_source() may run Python code: not while the lock is held
    if (!known) return define(scope, type, place, find_source());
    const auto source = find_known(key_of(*scope, place, known->op));
    return move(scope, type, known->number, place, source ? *source : find_source());
  }

  // set_dump() for the model: for operators right in it, which share the root with what runs outside of it.
  void flag_model(bool enabled);

  // From here on every scope counts from 0 again.
  void begin_step();

 private:
  std::optional<NamedOperator> next_known(Scope* scope, const char* type);
  NamedOperator define(Scope* scope, const char* type, std::uint64_t place, Source source);
  // The operator that next_known() gave is called from another place.
  NamedOperator move(Scope* scope, const char* type, std::size_t number, std::uint64_t place, Source source);
  // Operators of a module may share a place, as those of a function of torch do.
  std::uint64_t key_of(const Scope& scope, std::uint64_t place, const opdump_op* op) const {
    return &scope == &root_ ? place : place ^ (reinterpret_cast<std::uintptr_t>(op) * 0x9E3779B97F4A7C15u);
  }
  std::optional<Source> find_known(std::uint64_t key);
  void keep(std::uint64_t key, Source source);
  const opdump_op* define(const Scope& scope, const char* type, const std::string& name,
                          const Source& source) const;
  void flag(const std::string& name) const;

  std::mutex mutex_;  // guards everything, scopes included
  opdump_session* session_;
  std::int64_t graph_id_;
  Scope root_;
  Scope gradients_;
  std::uint64_t step_number_ = 1;
  std::optional<bool> model_flag_;
  static constexpr std::size_t kMostPlaces = 1 << 16;
  std::unordered_map<std::uint64_t, Source> places_;  // by key_of()
};

// Operators that this thread defines from here on are made of `mark` (see opdump_op_info.original_names),
// which lives for ever; null for none.
void set_mark(const char* mark);

// A copy of `text` that is never freed; equal texts give the same pointer.
const char* intern(std::string_view text);
const Stack* intern(Stack stack);

}  // namespace opdump::torch_adapter
