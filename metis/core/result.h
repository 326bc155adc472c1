// A value or an Error: what a function returns when the outside world can be at fault.
// Broken invariants of our own are METIS_CHECKs instead (check.h).
//
//   Result<Model> model = Decode(bytes);
//   if (!model) return model.error();
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "metis/core/check.h"

namespace metis {

// What went wrong, as far as callers react differently to it. A new code needs such a caller.
enum class ErrorCode {
  kInvalid,      // the input is wrong: say what, where and the way out
  kNotFound,     // no such thing
  kUnavailable,  // not now: absent file or peer, may work later
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;

  // The same error, said to have happened in `place`: "place: message".
  Error In(std::string_view place) const { return {code, std::string(place) + ": " + message}; }
};

inline Error Invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }
inline Error NotFound(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }
inline Error Unavailable(std::string message) {
  return {ErrorCode::kUnavailable, std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Reading a value that is not there, or an error that is not there, is our fault.
  T& value() & {
    METIS_CHECK_MSG(ok(), std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  const T& value() const& {
    METIS_CHECK_MSG(ok(), std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  T&& value() && {
    METIS_CHECK_MSG(ok(), std::get<1>(state_).message);
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    METIS_CHECK(!ok());
    return std::get<1>(state_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    METIS_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace metis
