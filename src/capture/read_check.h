// Whether what an operator reads is what was there when the tensor was last seen. An engine promises equal
// bytes by equal content numbers; a kernel that writes beyond its memory breaks the promise, and nobody
// announces it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "capture/jobs/reuse_table.h"
#include "capture/operand.h"
#include "model/operator.h"

namespace opdump::capture {

// Thread-safe.
class ReadCheck {
 public:
  struct Reading {
    std::uint64_t content = 0;        // for ReuseKey: a number that no bytes from before a change have
    std::optional<std::string> line;  // the memory has changed, and between which operators
  };
  // `op`, which lives as long as the check, reads the tensor or has just written it. Hashes its bytes.
  Reading look(const model::Operator& op, model::Side side, const Operand& operand, std::int64_t step);

 private:
  struct Seen {
    std::string hash;
    const model::Operator* op = nullptr;
    model::Side side = model::Side::input;
    std::int64_t step = 0;
  };
  std::uint64_t content_now(std::uint64_t content) const;

  std::mutex mutex_;  // guards the rest
  std::unordered_map<ReuseKey, Seen, ReuseKey::Hash> recent_, older_;
  std::unordered_map<std::uint64_t, std::uint64_t> changes_;  // how often the bytes of a content were others
};

}  // namespace opdump::capture
