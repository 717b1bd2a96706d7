#include "compare/shared_work.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/divide.h"
#include "math/hash.h"

namespace opdump::compare {
namespace {

// What a process says of itself before it starts: what it sees, or why it cannot take part.
struct Greeting {
  std::string digest;  // of its work; empty if it stays out
  std::string host, why;
};

std::string encode(const Greeting& greeting) {
  return greeting.digest + "\n" + greeting.host + "\n" + greeting.why;
}

Greeting decode_greeting(const std::string& text) {
  const std::size_t first = std::min(text.find('\n'), text.size());
  const std::size_t second = std::min(text.find('\n', first + 1), text.size());
  Greeting greeting{text.substr(0, first), {}, {}};
  if (first < text.size()) greeting.host = text.substr(first + 1, second - first - 1);
  if (second < text.size()) greeting.why = text.substr(second + 1);
  return greeting;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

// Which of `workers` has which piece.
std::vector<std::size_t> divide(std::span<const std::uint64_t> bytes,
                                const std::vector<std::size_t>& workers) {
  std::vector<std::size_t> owner = divide_by_bytes(bytes, workers.size());
  for (std::size_t& index : owner) index = workers[index];
  return owner;
}

// Notes the processes that take part, and of the others why not.
void find_workers(const std::vector<std::string>& greetings, SharedAnswers& shared) {
  const std::string digest = decode_greeting(greetings[0]).digest;
  for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
    const Greeting greeting = decode_greeting(greetings[rank]);
    if (!greeting.digest.empty() && greeting.digest == digest) {
      shared.workers.push_back(rank);
      continue;
    }
    std::string why = "it sees other files than process 0, and took no part";
    if (greeting.digest.empty()) why = greetings[rank].empty() ? "it died" : greeting.why;
    shared.problems.push_back("process " + std::to_string(rank) +
                              (greeting.host.empty() ? "" : " on " + greeting.host) + ": " + why);
  }
}

}  // namespace

Result<SharedAnswers> share_work(
    const Share& share, const std::string& digest, std::span<const std::uint64_t> bytes,
    const std::function<std::string(std::span<const std::size_t> pieces)>& work) {
  OPDUMP_TRY(const auto greetings, share.exchange(encode({digest, host_name(), {}})));
  if (decode_greeting(greetings[0]).digest.empty()) return Error(Code::internal, "process 0 takes no part");
  SharedAnswers shared;
  find_workers(greetings, shared);
  shared.owner = divide(bytes, shared.workers);
  const bool takes_part = std::ranges::find(shared.workers, share.rank) != shared.workers.end();
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < bytes.size() && takes_part; ++i)
    if (shared.owner[i] == share.rank) own.push_back(i);
  OPDUMP_TRY(shared.answers, share.exchange(work(own)));
  return shared;
}

Result<> stay_out(const Share& share, const std::string& why) {
  OPDUMP_TRY(const auto greetings, share.exchange(encode({{}, host_name(), why})));
  if (decode_greeting(greetings[0]).digest.empty()) return ok();
  OPDUMP_CHECK_OK(share.exchange({}));
  return ok();
}

std::string digest_of(std::string_view text) {
  const model::Shape shape{static_cast<std::int64_t>(text.size())};
  return math::md5_hex(model::TensorView::row_major(model::DType::uint8, shape, text.data()));
}

void note_seen(std::string& seen, std::string_view what) {
  constexpr std::size_t kLongest = 1 << 20;
  seen.append(what).append("\n");
  if (seen.size() > kLongest) seen = digest_of(seen);
}

std::vector<std::string> new_problems(const SharedAnswers& shared, std::vector<std::size_t>& workers) {
  std::vector<std::string> told;
  std::size_t missing = 0, rank = 0;
  for (; missing < shared.problems.size(); ++rank) {
    if (std::ranges::find(shared.workers, rank) != shared.workers.end()) continue;
    if (std::ranges::find(workers, rank) != workers.end()) told.push_back(shared.problems[missing]);
    ++missing;
  }
  workers = shared.workers;
  return told;
}

}  // namespace opdump::compare
