#include "collectives.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <typeinfo>
#include <utility>

#include "operands.h"

#if __has_include(<torch/csrc/distributed/c10d/Work.hpp>)
#include <torch/csrc/distributed/c10d/Work.hpp>
#define OPDUMP_HAS_WORK 1
#endif

namespace opdump::torch_adapter {

namespace {

constexpr const char* kTogether = "what processes did together";

#ifdef OPDUMP_HAS_WORK
// What a Work knows of itself, without its lock: its thread may hold that and be calling us.
struct OpenWork : c10d::Work {
  static bool has_failed(const c10d::Work& work) { return work.*(&OpenWork::exception_) != nullptr; }
  static bool is_complete(const c10d::Work& work) { return work.*(&OpenWork::completed_); }
};
bool has_failed(const c10::intrusive_ptr_target* work) {
  return work && OpenWork::has_failed(*static_cast<const c10d::Work*>(work));
}
bool is_complete(const c10::intrusive_ptr_target* work) {
  return work && OpenWork::is_complete(*static_cast<const c10d::Work*>(work));
}
const c10::intrusive_ptr_target* find_work(const c10::IValue& value) {
  if (!value.isObject() || value.toObjectRef().slots().empty()) return nullptr;
  const c10::IValue& slot = value.toObjectRef().getSlot(0);
  const auto name = value.toObjectRef().type()->name();
  if (!slot.isCapsule() || !name || name->name() != "Work") return nullptr;
  return static_cast<const c10d::Work*>(slot.toCapsule().get());
}
// Gloo's class of it has no name outside of its file.
bool is_compound(const c10::intrusive_ptr_target* work) {
  return work && std::strstr(typeid(*static_cast<const c10d::Work*>(work)).name(), "LambdaWork");
}
#else
bool has_failed(const c10::intrusive_ptr_target*) { return false; }
bool is_complete(const c10::intrusive_ptr_target*) { return false; }
const c10::intrusive_ptr_target* find_work(const c10::IValue&) { return nullptr; }
bool is_compound(const c10::intrusive_ptr_target*) { return false; }
#endif

// The same memory, without keeping the program's tensor from being the only one that knows it.
at::Tensor alias_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.key_set().has(c10::DispatchKey::Python)) return tensor;
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), false));
}

void add_aliases(const c10::IValue& value, std::vector<at::Tensor>& aliases) {
  if (value.isTensor()) {
    aliases.push_back(alias_of(value.toTensor()));
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) add_aliases(item, aliases);
  }
}

bool has_output(const Collective& collective, const c10::StorageImpl* storage) {
  return std::ranges::find(collective.outputs, storage, find_storage) != collective.outputs.end();
}

}  // namespace

c10::optional<WorkTitle> find_work_title(const at::RecordFunction& record) {
  if (!record.isAsync()) return c10::nullopt;
  const std::string_view title = record.name();
  for (const std::string_view backend : {"gloo:", "mpi:"}) {  // whose ends are the ends of the work
    if (!title.starts_with(backend)) continue;
    const std::string_view name = title.substr(backend.size());
    if (name == "send" || name == "barrier") return WorkTitle{name, WorkTitle::Writes::nothing};
    for (const std::string_view in_place :
         {"all_reduce", "sparse_all_reduce", "broadcast", "reduce", "recv", "recvAnySource"})
      if (name == in_place) return WorkTitle{name, WorkTitle::Writes::inputs};
    return WorkTitle{name, WorkTitle::Writes::unknown};
  }
  return c10::nullopt;
}

Collectives::Pointer Collectives::current() {
  // Its owner is the guard on the thread of the operator, and the work.
  auto* carried = dynamic_cast<Collective*>(c10::ThreadLocalDebugInfo::get(carrier()));
  return carried ? carried->shared_from_this() : nullptr;
}

Collectives::Pointer Collectives::functional() {
  static const Pointer all = [] {
    auto collective = std::make_shared<Collective>();
    collective->is_functional = true;
    return collective;
  }();
  return all;
}

Collectives::Pointer Collectives::begin(c10::ArrayRef<c10::IValue> written, bool writes_anywhere) {
  auto collective = std::make_shared<Collective>();
  for (const c10::IValue& value : written)
    for_each_storage(value, [&](c10::StorageImpl* storage) {
      if (BlockPointer block = contents_.begin_write(storage)) collective->blocks.push_back(std::move(block));
    });
  if ((collective->writes_anywhere = writes_anywhere)) contents_.begin_unknown_write();
  return collective;
}

void Collectives::returned(const Pointer& collective, opdump_call* call, c10::ArrayRef<c10::IValue> outputs,
                           const c10::IValue& work) {
  const std::lock_guard lock(collective->mutex);
  collective->work = find_work(work);
  for (const c10::IValue& value : outputs) add_aliases(value, collective->outputs);
  if (call) {
    Operands coming(contents_);
    for (const c10::IValue& value : outputs) coming.add(value, nullptr);
    opdump_returned(session_, collective->call = call, coming.data(), coming.size());
  }
  if (collective->outputs.empty())
    opdump_end(session_, std::exchange(collective->call, nullptr), nullptr, 0, 0);
  if ((collective->is_compound = is_compound(collective->work))) {
    collective->work = nullptr;  // need not live until its end
    collective->awaits_writes = true;
    ++awaiting_writes_;
    settle_writes(*collective);
  } else {
    collective->awaits_piece =
        collective->pieces == 0 && !collective->outputs.empty() && !is_complete(collective->work);
    if (!collective->awaits_piece) --collective->running;
  }
  if (collective->running == 0) return finish(*collective);
  const std::lock_guard pending_lock(mutex_);
  pending_.push_back(collective);
}

void Collectives::failed(const Pointer& collective) {
  const std::lock_guard lock(collective->mutex);
  if (--collective->running == 0) finish(*collective);
}

// True if it awaits no writes any more.
bool Collectives::settle_writes(Collective& collective) {
  if (!collective.awaits_writes) return false;
  const bool is_written = std::ranges::all_of(collective.outputs, [&](const at::Tensor& tensor) {
    const c10::StorageImpl* storage = find_storage(tensor);
    return !storage || std::ranges::find(collective.written, storage) != collective.written.end();
  });
  if (!is_written) return false;
  collective.awaits_writes = false;
  --awaiting_writes_;
  --collective.running;
  return true;
}

std::vector<Collectives::Pointer> Collectives::pending() {
  const std::lock_guard lock(mutex_);
  return pending_;
}

bool Collectives::await_write_to(const c10::IValue& value) {
  if (awaiting_writes_.load(std::memory_order_relaxed) == 0) return false;
  bool is_awaited = false;
  for (const Pointer& collective : pending()) {
    const std::lock_guard lock(collective->mutex);
    for_each_storage(value, [&](c10::StorageImpl* storage) {
      is_awaited = is_awaited || (collective->awaits_writes && has_output(*collective, storage));
    });
  }
  return is_awaited;
}

void Collectives::note_written(const c10::StorageImpl* storage) {
  if (awaiting_writes_.load(std::memory_order_relaxed) == 0) return;
  for (const Pointer& collective : pending()) {
    const std::lock_guard lock(collective->mutex);
    if (!collective->awaits_writes || !has_output(*collective, storage)) continue;
    collective->written.push_back(storage);
    if (!settle_writes(*collective) || collective->running > 0) continue;
    finish(*collective);
    forget(*collective);
  }
}

bool Collectives::add_piece(Collective& collective) {
  if (collective.is_functional) return false;
  const std::lock_guard lock(collective.mutex);
  if (collective.running == 0 && !collective.is_compound) return false;
  ++collective.pieces;
  if (!std::exchange(collective.awaits_piece, false)) ++collective.running;
  return true;
}

void Collectives::end_piece(const WorkPiece& piece) {
  Collective& collective = *piece.collective;
  const std::lock_guard lock(collective.mutex);
  collective.written.insert(collective.written.end(), piece.written.begin(), piece.written.end());
  settle_writes(collective);
  if (--collective.running > 0) return;
  finish(collective);
  forget(collective);
}

// The value is there.
void Collectives::finish(Collective& collective) {
  for (const BlockPointer& block : std::exchange(collective.blocks, {})) contents_.end_write(*block);
  if (std::exchange(collective.writes_anywhere, false)) contents_.end_unknown_write();
  if (opdump_call* call = std::exchange(collective.call, nullptr)) {
    Operands outputs(contents_);
    const bool failed = collective.pieces == 1 && has_failed(collective.work);
    if (!failed)
      for (const at::Tensor& tensor : collective.outputs) outputs.add(tensor, nullptr);
    opdump_end(session_, call, outputs.data(), outputs.size(), failed);
  }
  collective.outputs.clear();
}

void Collectives::forget(const Collective& collective) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const Pointer& p) { return p.get() == &collective; });
}

bool Collectives::wait_for_ends() {
  for (int i = 0; i < 1000; ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) return true;
    }
    if (!is_patient_) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  is_patient_ = false;
  return false;
}

void Collectives::give_up(const char* reason) {
  if (wait_for_ends()) return;
  for (const Pointer& collective : pending()) {
    const std::lock_guard lock(collective->mutex);
    opdump_call* call = std::exchange(collective->call, nullptr);
    if (!call) continue;
    Operands outputs(contents_);
    for (const at::Tensor& tensor : collective->outputs) outputs.add(tensor, reason);
    opdump_report_unseen(session_, kTogether, reason);
    opdump_end(session_, call, outputs.data(), outputs.size(), 0);
    collective->outputs.clear();
    settle_writes(*collective);
  }
}

}  // namespace opdump::torch_adapter
