// Any bytes as a fingerprints.bin: an error, or rows that refer to what is there. The second half of the
// input is also tried as the body of a block whose checksums are right, behind a block that the first half
// is.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/tables/fingerprints.h"

namespace {

using namespace opdump::format;

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint32_t crc_of(std::string_view text) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

std::string make_block(std::string_view body, std::uint32_t number) {
  const std::size_t rows = body.empty() ? 0 : static_cast<unsigned char>(body[0]);
  if (!body.empty()) body.remove_prefix(1);
  std::string block(kFingerprintsMagic);
  for (const std::uint64_t value : {std::uint64_t{kFingerprintsVersion}, std::uint64_t{number}})
    put(block, value, 4);
  put(block, 5, 8);
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{rows}, std::uint64_t{body.size()}})
    put(block, value, 4);
  put(block, crc_of(body), 4);
  put(block, crc_of(block), 4);
  return block.append(body);
}

// Reads blocks until one is none.
void read(std::string_view text) {
  FingerprintDecoder decoder;
  FingerprintTable table;
  const FingerprintDecoder::Take take{.row =
                                          [&](const FingerprintRow& row) {
                                            if (row.slot >= table.slots.size()) std::abort();
                                            if (row.content >= table.contents.size()) std::abort();
                                          },
                                      .move = [](auto, auto, auto) {}};
  auto bytes = std::as_bytes(std::span(text));
  while (const auto header = decode_fingerprint_header(bytes)) {
    if (header->block_bytes() > bytes.size()) return;
    const auto body = bytes.subspan(kFingerprintHeaderBytes, header->body_bytes);
    const auto decoded = decoder.decode(*header, body, table, take);
    if (!decoded && decoded.error().message().empty()) std::abort();
    if (table.contents.size() > text.size() || table.slots.size() > text.size()) std::abort();
    bytes = bytes.subspan(header->block_bytes());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(make_block(text.substr(0, size / 2), 0) + make_block(text.substr(size / 2), 1));
  return 0;
}
