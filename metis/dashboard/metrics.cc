#include "metis/dashboard/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

namespace metis::dashboard {
namespace {

using operations::ParticipantStatus;
using operations::Status;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  // Begins the family that Add() adds to.
  Families& Begin(MetricType type, std::string name, std::string help) {
    families_.push_back({std::move(name), std::move(help), type, {}});
    return *this;
  }
  Families& Gauge(std::string name, std::string help) {
    return Begin(MetricType::Gauge, std::move(name), std::move(help));
  }
  Families& Counter(std::string name, std::string help) {
    return Begin(MetricType::Counter, std::move(name), std::move(help));
  }
  template <typename T>
  Families& Add(T value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    const double number = static_cast<double>(value);
    (families_.back().type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        number;
    families_.back().metric.push_back(std::move(metric));
    return *this;
  }
  // Families without a value are left out.
  std::string Format() && {
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  std::vector<MetricFamily> families_;
};

void AddProgress(Families& out, const Status& s) {
  out.Gauge("metis_info", "What runs; always 1.")
      .Add(1, {{"program", s.program},
               {"federation", s.federation},
               {"policy", s.policy},
               {"dataset", s.dataset},
               {"model", s.model}});
  out.Gauge("metis_phase", "1 for the phase that the federation is in, 0 for the others.");
  for (const char* phase : {"waiting", "running", "paused", "finished"}) {
    out.Add(s.phase == phase ? 1 : 0, {{"phase", phase}});
  }
  out.Gauge("metis_time_seconds", "The federation's clock; goes on where it was after a restart.")
      .Add(s.time_s);
  out.Gauge("metis_uptime_seconds", "Since the controller's process began.").Add(s.uptime_s);
  out.Gauge("metis_done_ratio", "Part of the way to the federation's end; 0 if it has none.")
      .Add(s.part);
  out.Gauge("metis_community_version", "Version of the community model.").Add(s.version);
  out.Counter("metis_committed_steps_total", "Mini-batch steps in the community model.")
      .Add(s.committed_steps);
  out.Counter("metis_update_requests_total", "Update requests committed.").Add(s.requests);
  out.Counter("metis_rejected_updates_total", "Updates refused.").Add(s.rejected);
  out.Counter("metis_withdrawals_total", "Models taken out of the community.").Add(s.withdrawals);
  out.Counter("metis_models_exchanged_total", "Models sent and received.").Add(s.models_exchanged);
  out.Counter("metis_models_evaluated_total", "Models sent for evaluation.")
      .Add(s.models_evaluated);
  out.Gauge("metis_pending_updates", "Updates acknowledged, not yet committed.").Add(s.pending);
  out.Gauge("metis_update_requests_per_minute", "Over the last minute.").Add(s.requests_per_minute);
}

void AddTests(Families& out, const Status& s) {
  if (s.tests.empty()) return;
  const operations::TestStatus& last = s.tests.back();
  out.Gauge("metis_test_accuracy", "Accuracy of the community model in its last test, 0 to 1.")
      .Add(last.accuracy);
  out.Gauge("metis_test_loss", "Loss of the community model in its last test.").Add(last.loss);
  out.Gauge("metis_test_version", "The version that was tested last.").Add(last.version);
  if (s.best) {
    out.Gauge("metis_best_accuracy", "The best accuracy of all tests, 0 to 1.")
        .Add(s.best->accuracy);
  }
}

void AddCosts(Families& out, const Status& s) {
  out.Gauge("metis_memory_bytes", "Resident memory of the controller.").Add(s.memory_bytes);
  out.Gauge("metis_model_bytes", "Size of one model.").Add(s.model_bytes);
  out.Counter("metis_received_bytes_total", "Received from participants.").Add(s.bytes_received);
  out.Counter("metis_sent_bytes_total", "Sent to participants.").Add(s.bytes_sent);
  out.Gauge("metis_connected", "Participants that are connected.").Add(s.connected);
  out.Counter("metis_refusals_total", "Calls refused since the process began.").Add(s.refusals);
  out.Counter("metis_dropped_events_total", "Events that the disk refused.").Add(s.dropped_events);
}

void AddStates(Families& out, const Status& s) {
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  for (const ParticipantStatus& one : s.participants) ++counts[{one.role, one.state}];
  out.Gauge("metis_participants", "Participants by role and state.");
  for (const auto& [key, count] : counts) {
    out.Add(count, {{"role", key.first}, {"state", key.second}});
  }
}

void AddParticipants(Families& out, const Status& s) {
  const auto each = [&](auto value) {
    for (const ParticipantStatus& one : s.participants) {
      value(one, Labels{{"participant", one.name}, {"role", one.role}});
    }
  };
  out.Gauge("metis_participant_connected", "1 while it is connected.");
  each([&](auto& one, Labels labels) { out.Add(one.connected ? 1 : 0, std::move(labels)); });
  out.Gauge("metis_participant_contribution", "p_k of its model in the community; 0: none.");
  each([&](auto& one, Labels labels) { out.Add(one.contribution, std::move(labels)); });
  out.Gauge("metis_participant_share", "Its part of all contributions, 0 to 1.");
  each([&](auto& one, Labels labels) { out.Add(one.share, std::move(labels)); });
  out.Gauge("metis_participant_staleness_steps", "Steps committed since it got its model.");
  each([&](auto& one, Labels labels) {
    if (one.staleness) out.Add(*one.staleness, std::move(labels));
  });
  out.Gauge("metis_participant_last_seen_seconds", "Since its last word.");
  each([&](auto& one, Labels labels) {
    if (one.last_seen_s) out.Add(*one.last_seen_s, std::move(labels));
  });
  out.Counter("metis_participant_updates_total", "Its updates committed.");
  each([&](auto& one, Labels labels) { out.Add(one.updates, std::move(labels)); });
  out.Counter("metis_participant_rejected_total", "Its updates refused.");
  each([&](auto& one, Labels labels) { out.Add(one.rejected, std::move(labels)); });
  out.Counter("metis_participant_epochs_total", "Local epochs that it trained.");
  each([&](auto& one, Labels labels) { out.Add(one.epochs, std::move(labels)); });
  out.Counter("metis_participant_cycles_total", "Its validation cycles, by why they ended.");
  each([&](auto& one, const Labels& labels) {
    for (const auto& [reason, count] : one.cycles) {
      Labels all = labels;
      all.push_back({"reason", reason});
      out.Add(count, std::move(all));
    }
  });
}

}  // namespace

std::string FormatMetrics(const Status& status) {
  Families out;
  AddProgress(out, status);
  AddTests(out, status);
  AddCosts(out, status);
  AddStates(out, status);
  AddParticipants(out, status);
  return std::move(out).Format();
}

}  // namespace metis::dashboard
