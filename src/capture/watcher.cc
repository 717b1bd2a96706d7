#include "capture/watcher.h"

#include <algorithm>

#include "capture/operand.h"
#include "math/layout/strided_copy.h"

namespace opdump::capture {
namespace {

thread_local bool runs_operator = false;

std::vector<std::byte> copy_of(const model::TensorView& view) {
  std::vector<std::byte> bytes(view.byte_count());
  math::copy_row_major(view, bytes);
  return bytes;
}

}  // namespace

std::size_t Watcher::keep(const model::Operator& op, std::int64_t graph_id, std::span<const Operand> outputs,
                          const Lender& lender) {
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[&op];
  kept.op = &op;
  kept.graph_id = graph_id;
  kept.outputs.clear();
  std::size_t lost = 0;
  for (const Operand& operand : outputs) {
    if (!operand.undumped.empty() || !operand.view.data || operand.view.byte_count() == 0) continue;
    if (operand.content == 0 || !lender.lends(operand.owner)) {
      ++lost;
      continue;
    }
    Output& output = kept.outputs.emplace_back();
    output.index = operand.index;
    output.format = operand.format;
    output.original_shape = operand.original_shape;
    output.view = operand.view;
    output.content = operand.content;
    output.owner = operand.owner;
    output.keep_alive = lender.borrow(operand.owner);
    output.copy = copy_of(operand.view);
  }
  return lost;
}

void Watcher::note_begin() { runs_operator = true; }

void Watcher::note_write(std::uint64_t content) {
  if (content == 0) return;
  const std::lock_guard lock(mutex_);
  for (auto& [op, kept] : kept_)
    for (Output& output : kept.outputs)
      if (output.content == content)
        output.announced = runs_operator ? Announced::by_operator : Announced::by_program;
}

// "1 of 8 bytes, from byte 4 on"; empty if nothing has changed. What has changed is the new copy.
std::string Watcher::compare(Output& output) {
  std::vector<std::byte> now = copy_of(output.view);
  const auto [old_at, new_at] = std::ranges::mismatch(output.copy, now);
  if (new_at == now.end()) return {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < now.size(); ++i) count += now[i] != output.copy[i];
  std::string text = std::to_string(count) + " of " + std::to_string(now.size()) + " bytes, from byte " +
                     std::to_string(new_at - now.begin()) + " on";
  output.copy = std::move(now);
  return text;
}

std::string Watcher::describe(const Output& output, const Kept& kept, const model::Operator& op,
                              const std::string& difference) {
  std::string text = "output " + std::to_string(output.index) + " of " + kept.op->name;
  switch (output.announced) {
    case Announced::no:
      text += " was overwritten while " + op.name + " ran, which had not declared the write";
      break;
    case Announced::by_operator:
      text += " was written to by " + op.name + ", which had declared the write";
      break;
    case Announced::by_program:
      text += " was written to by the program, which had asked for its address, before " + op.name + " ended";
      break;
  }
  return text + " (" + difference + ")";
}

std::vector<std::string> Watcher::check(const model::Operator& op, std::span<const Operand> outputs) {
  runs_operator = false;
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (auto& [kept_op, kept] : kept_) {
    if (kept_op == &op) continue;  // it has written anew
    for (Output& output : kept.outputs) {
      for (const Operand& operand : outputs)
        if (operand.owner == output.owner && operand.content != 0) output.content = operand.content;
      const std::string difference = compare(output);
      if (difference.empty()) continue;
      sentences.push_back(describe(output, kept, op, difference));
      output.announced = Announced::no;
    }
  }
  return sentences;
}

const model::Operator& Watcher::pair(const model::Operator& layer, const model::Operator& kept) {
  auto& known = pairs_[{&layer, &kept}];
  if (!known) {
    known = std::make_unique<model::Operator>(kept);
    known->name = layer.name + "_To_" + kept.name;
    known->task = layer.task;
    known->stream = layer.stream;
  }
  return *known;
}

std::vector<Watcher::Again> Watcher::look_again(const model::Operator& op, std::int64_t graph_id,
                                                std::int64_t step, std::uint64_t timestamp_us) {
  const std::lock_guard lock(mutex_);
  std::vector<Again> files;
  for (auto& [kept_op, kept] : kept_) {
    if (kept_op == &op || kept.graph_id != graph_id || kept.outputs.empty()) continue;
    Again& again = files.emplace_back();
    for (const Output& output : kept.outputs) {
      dump::SlotAddress address{.op = &pair(op, *kept_op),
                                .graph_id = graph_id,
                                .step = step,
                                .timestamp_us = timestamp_us,
                                .side = model::Side::output,
                                .index = output.index};
      if (!output.format.empty()) address.format = output.format;
      address.original_shape = output.original_shape;
      again.members.push_back({address, output.view});
    }
  }
  return files;
}

void Watcher::forget() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

}  // namespace opdump::capture
