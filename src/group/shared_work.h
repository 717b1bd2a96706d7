// A list of pieces of work divided between several processes, each of which knows the whole list: about as
// many bytes for each, and every process learns all results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::group {

// Several processes that compare the same two dumps, each a part of the tensors.
struct Share {
  std::size_t rank = 0, size = 1;
  unsigned threads = 0;  // that this process may use; 0: one for each core
  // Gives each process the texts of all by rank, empty ones for those that died. All call it equally often.
  std::function<Result<std::vector<std::string>>(const std::string& mine)> exchange;
};

// What became of one list.
struct SharedAnswers {
  std::vector<std::size_t> workers;  // the processes that took part
  std::vector<std::size_t> owner;    // for each piece the process that has it
  std::vector<std::string> answers;  // by process; empty of those that died or took no part
};

// Work in several consecutive lists, so that the messages between processes stay
// small.
class SharedWork {
 public:
  // Only processes with process 0's `digest` take part: they have the same `rounds` lists. Errors: those of
  // exchange; internal -- process 0 takes no part.
  static Result<SharedWork> join(const Share& share, const std::string& digest, std::uint64_t rounds);

  bool takes_part() const;
  // Why others take no part: "process 2 on host7: it died".
  const std::vector<std::string>& problems() const { return problems_; }

  // Does this process's part of a list with `work`, which gets the numbers of its pieces and returns the
  // results as text; they may be empty only in process 0. A process that does not answer gets no more work.
  // Errors: those of exchange.
  Result<SharedAnswers> run(std::span<const std::uint64_t> bytes,
                            const std::function<std::string(std::span<const std::size_t> pieces)>& work);
  // Replaces every run() of a process that takes no part.
  Result<> skip_all();

 private:
  explicit SharedWork(const Share& share) : share_(&share) {}
  const Share* share_;
  std::uint64_t rounds_ = 0;  // process 0's
  std::vector<std::size_t> workers_;
  std::vector<std::string> problems_;
};

// Called instead by a process that cannot start; the other processes report `why`.
Result<> withdraw(const Share& share, const std::string& why);

// A short text that is equal for equal texts.
std::string digest_of(std::string_view text);
// Appends to a text that a digest will be taken of, and may be replaced by one: equal for equal pieces.
void note_seen(std::string& seen, std::string_view what);

}  // namespace opdump::group
