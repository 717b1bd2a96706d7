// What a compiler has made of a part of the program: generated code, which is one operator or none, and nodes
// of a traced graph, whose operators come from where the graph says.
#include "bridge.h"
#include "observer.h"

namespace opdump::torch_adapter {

void Observer::enter_generated() {
  opdump_before_any_write(session_);
  contents_.begin_unknown_write();
}

void Observer::leave_generated() { contents_.end_unknown_write(); }

opdump_call* Observer::begin_region(const char* type, c10::ArrayRef<at::Tensor> inputs,
                                    const char* undumped) {
  const Location location = locate();
  note_pass(location);
  const NamedOperator named = next_operator(location, intern(type));
  const opdump_op* const known = named.op;
  note_forward(location.scope, named.source);
  if (!opdump_wants(session_, known)) return nullptr;
  Operands operands(contents_);
  for (const at::Tensor& input : inputs) operands.add(input, undumped);
  return opdump_begin(session_, known, operands.data(), operands.size());
}

void Observer::end_region(opdump_call* call, c10::ArrayRef<at::Tensor> outputs, bool has_own_numbers) {
  if (call && has_own_numbers) {
    opdump_argument state{};
    state.size = sizeof state;
    state.kind = OPDUMP_ARGUMENT_STATE;
    state.name = "random";
    state.text = "generated";
    opdump_set_arguments(session_, call, &state, 1);
  }
  Operands operands(contents_);
  for (const at::Tensor& output : outputs) operands.add(output, nullptr);
  opdump_end(session_, call, operands.data(), operands.size(), 0);
}

}  // namespace opdump::torch_adapter

void opdump_torch_push_node(void* scope, const char* path, const char* file, int line, const char* stack,
                            int is_backward) {
  using namespace opdump::torch_adapter;
  Observer* o = current_observer();
  if (!o) return;
  Scope* const at = o->names().descend(scope ? static_cast<Scope*>(scope) : o->names().root(), path);
  Source source;
  if (file && *file) {
    source.file = intern(file);
    source.line = line;
    source.stack = intern(opdump::torch_adapter::Stack{intern(stack)});
  }
  this_thread().stack.push_back({is_backward ? o->names().gradients_of(at) : at, source, is_backward != 0});
}
