#include "metis/operations/status.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "metis/core/text.h"

namespace metis::operations {
namespace {

using report::Json;

// The fields of each struct, once for writing and reading.
template <typename A>
void Each(A& a, ParticipantStatus& s) {
  a("id", s.id)("name", s.name)("role", s.role)("group", s.group)("state", s.state);
  a("connected", s.connected)("address", s.address)("incarnation", s.incarnation);
  a("training_examples", s.training_examples)("validation_examples", s.validation_examples);
  a("version", s.version)("staleness", s.staleness)("contribution", s.contribution);
  a("share", s.share)("updates", s.updates)("rejected", s.rejected)("epochs", s.epochs);
  a("updates_per_minute", s.updates_per_minute)("last_seen_s", s.last_seen_s);
  a("cycles", s.cycles);
}

template <typename A>
void Each(A& a, TestStatus& s) {
  a("time_s", s.time_s)("version", s.version)("requests", s.requests);
  a("accuracy", s.accuracy)("loss", s.loss);
}

template <typename A>
void Each(A& a, CycleStatus& s) {
  a("time_s", s.time_s)("learner", s.learner)("epochs", s.epochs)("reason", s.reason);
  a("staleness", s.staleness);
}

template <typename A>
void Each(A& a, EventStatus& s) {
  a("time_s", s.time_s)("text", s.text);
}

template <typename A>
void Each(A& a, Status& s) {
  a("program", s.program)("federation", s.federation)("policy", s.policy)("dataset", s.dataset);
  a("model", s.model)("parameters", s.parameters)("run", s.run);
  a("phase", s.phase)("phase_reason", s.phase_reason)("stopped_by", s.stopped_by);
  a("time_s", s.time_s)("uptime_s", s.uptime_s)("part", s.part)("version", s.version);
  a("committed_steps", s.committed_steps)("requests", s.requests)("rejected", s.rejected);
  a("withdrawals", s.withdrawals)("models_exchanged", s.models_exchanged);
  a("models_evaluated", s.models_evaluated)("pending", s.pending);
  a("requests_per_minute", s.requests_per_minute)("best", s.best);
  a("memory_bytes", s.memory_bytes)("model_bytes", s.model_bytes);
  a("bytes_received", s.bytes_received)("bytes_sent", s.bytes_sent)("connected", s.connected);
  a("refusals", s.refusals)("dropped_events", s.dropped_events);
  a("participants", s.participants)("tests", s.tests)("cycles", s.cycles)("events", s.events);
}

class Writer {
 public:
  template <typename T>
  Writer& operator()(const char* name, T& value) {
    object_[name] = Value(value);
    return *this;
  }
  Json Take() && { return std::move(object_); }

 private:
  template <typename T>
  static Json Value(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      return report::NumberJson(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer writer;
      Each(writer, value);
      return std::move(writer).Take();
    }
  }
  template <typename T>
  static Json Value(std::optional<T>& value) {
    return value ? Value(*value) : Json(nullptr);
  }
  template <typename T>
  static Json Value(std::vector<T>& values) {
    Json array = Json::array();
    for (T& value : values) array.push_back(Value(value));
    return array;
  }
  static Json Value(std::map<std::string, uint64_t>& values) {
    Json object = Json::object();
    for (const auto& [name, value] : values) object[name] = value;
    return object;
  }

  Json object_ = Json::object();
};

class Reader {
 public:
  Reader(const Json& object, std::string place, std::string& wrong)
      : object_(object), place_(std::move(place)), wrong_(wrong) {}

  template <typename T>
  Reader& operator()(const char* name, T& value) {
    const auto found = object_.find(name);
    if (found != object_.end()) Read(*found, Text(place_, place_.empty() ? "" : ".", name), value);
    return *this;
  }

 private:
  void Wrong(const std::string& where, const char* wanted) {
    if (wrong_.empty()) wrong_ = Text("\"", where, "\" is not ", wanted);
  }
  void Read(const Json& json, const std::string& where, std::string& value) {
    if (!json.is_string()) return Wrong(where, "a text");
    value = json.get<std::string>();
  }
  void Read(const Json& json, const std::string& where, bool& value) {
    if (!json.is_boolean()) return Wrong(where, "true or false");
    value = json.get<bool>();
  }
  void Read(const Json& json, const std::string& where, double& value) {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf" || json == "-inf") {
      value = std::numeric_limits<double>::infinity() * (json == "inf" ? 1 : -1);
    } else {
      Wrong(where, "a number");
    }
  }
  template <typename T>
  requires std::is_integral_v<T>
  void Read(const Json& json, const std::string& where, T& value) {
    if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<T>::max()) {
      return Wrong(where, "a whole number of its range");
    }
    value = json.get<T>();
  }
  template <typename T>
  void Read(const Json& json, const std::string& where, std::optional<T>& value) {
    if (!json.is_null()) Read(json, where, value.emplace());
  }
  template <typename T>
  void Read(const Json& json, const std::string& where, std::vector<T>& values) {
    if (!json.is_array()) return Wrong(where, "a list");
    for (size_t i = 0; i < json.size(); ++i) {
      Read(json[i], Text(where, "[", i, "]"), values.emplace_back());
    }
  }
  void Read(const Json& json, const std::string& where, std::map<std::string, uint64_t>& values) {
    if (!json.is_object()) return Wrong(where, "an object");
    for (const auto& [name, value] : json.items()) {
      Read(value, Text(where, ".", name), values[name]);
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void Read(const Json& json, const std::string& where, T& value) {
    if (!json.is_object()) return Wrong(where, "an object");
    Reader reader(json, where, wrong_);
    Each(reader, value);
  }

  const Json& object_;
  const std::string place_;
  std::string& wrong_;  // the first thing that is
};

}  // namespace

report::Json FormatStatus(const Status& status) {
  Writer writer;
  Status copy = status;
  Each(writer, copy);
  return std::move(writer).Take();
}

Result<Status> ParseStatus(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Invalid("the status is no JSON object");
  Status status;
  std::string wrong;
  Reader reader(json, "", wrong);
  Each(reader, status);
  if (!wrong.empty()) return Invalid(Text("the status is of another kind: ", wrong));
  return status;
}

}  // namespace metis::operations
