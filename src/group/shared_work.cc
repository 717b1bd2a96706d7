#include "group/shared_work.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/divide.h"
#include "base/text/packing.h"
#include "math/hash.h"

namespace opdump::group {
namespace {

// What a process says of itself before it starts: what it sees, or why it cannot take part.
struct Greeting {
  std::string digest;  // of its work; empty if it stays out
  std::string host, why;
  std::uint64_t rounds = 0;
};

std::string encode(const Greeting& greeting) {
  std::string bytes;
  Packer out(bytes);
  out.text(greeting.digest);
  out.text(greeting.host);
  out.text(greeting.why);
  out.number(greeting.rounds);
  return bytes;
}

Greeting decode_greeting(std::string_view bytes) {
  Unpacker in(bytes);
  Greeting greeting;
  greeting.digest = in.text();
  greeting.host = in.text();
  greeting.why = in.text();
  greeting.rounds = in.number();
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

}  // namespace

Result<SharedWork> SharedWork::join(const Share& share, const std::string& digest, std::uint64_t rounds) {
  OPDUMP_TRY(const auto greetings, share.exchange(encode({digest, host_name(), {}, rounds})));
  const Greeting leader = decode_greeting(greetings[0]);
  if (leader.digest.empty()) return Error(Code::internal, "process 0 did not join");
  SharedWork shared(share);
  shared.rounds_ = leader.rounds;
  for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
    const Greeting greeting = decode_greeting(greetings[rank]);
    if (!greeting.digest.empty() && greeting.digest == leader.digest) {
      shared.workers_.push_back(rank);
      continue;
    }
    std::string why = "it sees other files than process 0, and did no work";
    if (greeting.digest.empty()) why = greetings[rank].empty() ? "it died" : greeting.why;
    shared.problems_.push_back("process " + std::to_string(rank) +
                               (greeting.host.empty() ? "" : " on " + greeting.host) + ": " + why);
  }
  return shared;
}

bool SharedWork::takes_part() const { return std::ranges::find(workers_, share_->rank) != workers_.end(); }

Result<SharedAnswers> SharedWork::run(
    std::span<const std::uint64_t> bytes,
    const std::function<std::string(std::span<const std::size_t> pieces)>& work) {
  SharedAnswers shared{workers_, divide(bytes, workers_), {}};
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < bytes.size() && takes_part(); ++i)
    if (shared.owner[i] == share_->rank) own.push_back(i);
  OPDUMP_TRY(shared.answers, share_->exchange(work(own)));
  std::erase_if(workers_, [&](std::size_t rank) {
    return rank != 0 && shared.answers[rank].empty() && std::ranges::count(shared.owner, rank) > 0;
  });
  return shared;
}

Result<> SharedWork::skip_all() {
  for (; rounds_ > 0; --rounds_) OPDUMP_CHECK_OK(share_->exchange({}));
  return ok();
}

Result<> withdraw(const Share& share, const std::string& why) {
  OPDUMP_TRY(const auto greetings, share.exchange(encode({{}, host_name(), why, 0})));
  const Greeting leader = decode_greeting(greetings[0]);
  for (std::uint64_t round = 0; !leader.digest.empty() && round < leader.rounds; ++round)
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

}  // namespace opdump::group
