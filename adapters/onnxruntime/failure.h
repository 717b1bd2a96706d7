// How anything here fails. Inside this adapter errors are exceptions, as protozero's are; the C door
// (door.cc) is the one place where they end.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "opdump/opdump.h"

namespace opdump::onnx {

class Failure : public std::runtime_error {
 public:
  explicit Failure(std::string message, opdump_status status = OPDUMP_ERROR_ARGUMENT)
      : std::runtime_error(std::move(message)), status_(status) {}
  opdump_status status() const { return status_; }

 private:
  opdump_status status_;
};

}  // namespace opdump::onnx
