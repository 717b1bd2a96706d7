// CANN's watch mode, cann.md 1.4: the outputs of some operators are kept, and looked at again after others,
// to find who writes into memory that is not his. Beyond the original the watcher compares: it keeps a copy
// of what an operator wrote and says after which operator the memory is another, and whether that one had
// announced a write (before_write) or not.
//
// Outputs are kept until the step ends or the operator runs again. Only memory that can be kept alive is
// watched: the engine gives it with an owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/jobs/job.h"
#include "dump/write/scheme_writer.h"
#include "model/operator.h"

namespace opdump::capture {

struct Operand;

// Thread-safe.
class Watcher {
 public:
  // What `op` wrote. Returns how many of its outputs cannot be watched, having no owner.
  std::size_t keep(const model::Operator& op, std::int64_t graph_id, std::span<const Operand> outputs,
                   const Lender& lender);

  // The thread begins to run an operator, until the next check().
  void note_begin();

  // The block of memory of this content is about to be written to: by the operator that the thread runs, or
  // if there is none, by the program, which has asked where it lies.
  void note_write(std::uint64_t content);

  // `op` has run; `outputs` say which blocks have new contents. Returns a sentence for each output that is
  // not as it was any more, without the step.
  std::vector<std::string> check(const model::Operator& op, std::span<const Operand> outputs);

  // The kept outputs as they are now, in files of their own: one for each operator, named
  // {op}_To_{kept operator}. The addresses' operators live as long as the watcher.
  struct Again {
    std::vector<dump::SchemeWriter::Member> members;
  };
  std::vector<Again> look_again(const model::Operator& op, std::int64_t graph_id, std::int64_t step,
                                std::uint64_t timestamp_us);

  // A step ends: nothing is kept any more.
  void forget();

 private:
  enum class Announced : std::uint8_t { no, by_operator, by_program };
  struct Output {
    std::uint32_t index = 0;
    std::string_view format;
    model::Shape original_shape;
    model::TensorView view;
    std::uint64_t content = 0;
    void* owner = nullptr;
    Announced announced = Announced::no;  // a write to it, since the last look
    KeepAlive keep_alive;
    std::vector<std::byte> copy;
  };
  struct Kept {
    const model::Operator* op = nullptr;
    std::int64_t graph_id = 0;
    std::vector<Output> outputs;
  };
  static std::string compare(Output& output);
  static std::string describe(const Output& output, const Kept& kept, const model::Operator& op,
                              const std::string& difference);
  const model::Operator& pair(const model::Operator& layer, const model::Operator& kept);

  std::mutex mutex_;  // guards the rest
  std::map<const model::Operator*, Kept> kept_;
  std::map<std::pair<const model::Operator*, const model::Operator*>, std::unique_ptr<model::Operator>>
      pairs_;
};

}  // namespace opdump::capture
