// Collectives (reductions, broadcasts, sending and receiving) continue after the operator that began them has
// returned; their outputs exist when the program has waited for them. We never block, because another process
// may wait for the next action of this one. Instead, RecordFunction reports each piece of such work
// ("gloo:all_reduce"): its begin, often on another thread and after the operator has returned, and its end,
// before waiting threads continue. At the end we record the outputs. Until then the memory has no known
// content. State that torch passes to the threads that do the work identifies the
// operator.
//
// Gloo has work of several pieces, too, and does not say how many (reduce_scatter since torch 2.7). Some
// pieces write to outputs; if they write elsewhere, the wait copies from there. Such work is complete when a
// piece or an operator of the wait has written to each output.
//
// Work without an operator (all_to_all_single) is reported in the same way. If it is unknown where such work
// writes, the content of all memory is unknown until it ends.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Optional.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "contents.h"
#include "opdump/opdump.h"

namespace opdump::torch_adapter {

struct Collective : c10::DebugInfoBase, std::enable_shared_from_this<Collective> {
  std::mutex mutex;  // guards the rest
  opdump_call* call = nullptr;
  std::vector<at::Tensor> outputs;
  std::vector<BlockPointer> blocks;  // that it writes to
  bool writes_anywhere = false;
  int running = 1;            // pieces of work, and the operator itself until it has returned
  int pieces = 0;             // that have begun
  bool awaits_piece = false;  // the operator has returned, and counts as the first piece until that begins
  const c10::intrusive_ptr_target* work = nullptr;  // what was returned; valid while its only piece ends
  bool is_compound = false;                         // work of several pieces has been returned
  bool awaits_writes = false;                       // and counts as a piece until each output is written
  std::vector<const c10::StorageImpl*> written;
  bool is_functional = false;  // of any operator whose results wait_tensor records
};

struct WorkPiece {
  std::shared_ptr<Collective> collective;  // null: nobody waits for its end
  std::vector<const c10::StorageImpl*> written;
};

// What a record says of a piece of work.
struct WorkTitle {
  std::string_view name;  // "all_reduce"
  enum class Writes { nothing, inputs, unknown } writes;
};
// Nothing for records of other things.
c10::optional<WorkTitle> find_work_title(const at::RecordFunction& record);

// Those of one recording. Thread-safe.
class Collectives {
 public:
  using Pointer = std::shared_ptr<Collective>;
  Collectives(opdump_session* session, Contents& contents) : session_(session), contents_(contents) {}

  // What torch carries from the thread that runs the operator to those that do the work.
  static c10::DebugInfoKind carrier() { return c10::DebugInfoKind::TEST_INFO_2; }  // torch does not use it

  // What writes to the tensors in `written`, or may write to any, is about to run: inside of a
  // c10::DebugInfoGuard of kCarrier and this.
  Pointer begin(c10::ArrayRef<c10::IValue> written, bool writes_anywhere = false);

  // The operator has returned, or thrown. `call` may be null. `outputs` are what it will have made; `work` is
  // what it returned to be waited for.
  void returned(const Pointer& collective, opdump_call* call, c10::ArrayRef<c10::IValue> outputs,
                const c10::IValue& work);
  void failed(const Pointer& collective);

  // Whether an operator of the wait will write to a tensor of `value`; and: an operator has written to
  // `storage`.
  bool await_write_to(const c10::IValue& value);
  void note_written(const c10::StorageImpl* storage);

  // The operator that what this thread does belongs to, or null.
  static Pointer current();
  // Stands for every operator of torch's functional collectives.
  static Pointer functional();

  // A piece of work of it begins, and ends on whatever thread. False if it is complete already: a callback of
  // the program runs there; and if it is functional().
  static bool add_piece(Collective& collective);
  void end_piece(const WorkPiece& piece);

  // Ends the calls of those that are not complete without their outputs. Who waits for a future of the work,
  // as DistributedDataParallel does, may go on a moment before its end is recorded: that is waited for first,
  // for a second at most, and never again once work turned out to go on beyond a step.
  void give_up(const char* reason);

 private:
  std::vector<Pointer> pending();
  bool settle_writes(Collective& collective);
  void finish(Collective& collective);
  void forget(const Collective& collective);

  opdump_session* session_;
  Contents& contents_;
  bool wait_for_ends();
  std::mutex mutex_;  // guards pending_
  std::vector<Pointer> pending_;
  std::atomic<bool> is_patient_{true};
  std::atomic<int> awaiting_writes_{0};  // collectives
};

}  // namespace opdump::torch_adapter
