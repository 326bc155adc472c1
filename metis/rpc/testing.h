// What tests of the network share: a CA and certificates made on the spot (P-256, OpenSSL), a
// participant with a fake controller, and files of their own. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/rpc/credentials.h"
#include "metis/rpc/fake_controller.h"
#include "metis/rpc/participant_client.h"

namespace metis::rpc {

using KeyPtr = std::shared_ptr<EVP_PKEY>;
using CertificatePtr = std::shared_ptr<X509>;

// A certificate and the key that belongs to it.
struct Identity {
  CertificatePtr certificate;
  KeyPtr key;
};

struct CertificateSpec {
  std::string name;  // DNS name, and the common name; no subject alternative name if `dns` is off
  bool dns = true;
  long days = 30;                               // valid until so many days from now
  long from_days = -1;                          // valid since
  std::string usage = "serverAuth,clientAuth";  // extendedKeyUsage; empty: none
  bool authority = false;
  std::string also = "";  // further subject alternative names: "IP:10.0.0.9"
};

// A certificate for the spec, signed by `ca`, or by itself where that is null.
inline Identity MakeCertificate(const CertificateSpec& spec, const Identity* ca) {
  Identity made;
  made.key = KeyPtr(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate = CertificatePtr(X509_new(), X509_free);
  X509* certificate = made.certificate.get();
  METIS_CHECK(made.key != nullptr && certificate != nullptr);
  static long serial = 1;
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  constexpr long kDay = 24 * 3600;
  X509_gmtime_adj(X509_getm_notBefore(certificate), spec.from_days * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), spec.days * kDay);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(spec.name.c_str()), -1, -1, 0);
  X509* issuer = ca == nullptr ? certificate : ca->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  const auto extend = [&](int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    METIS_CHECK_MSG(extension != nullptr, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, spec.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!spec.authority && spec.dns) {
    extend(NID_subject_alt_name, Text("DNS:", spec.name, spec.also.empty() ? "" : ",", spec.also));
  }
  if (!spec.authority && !spec.usage.empty()) extend(NID_ext_key_usage, spec.usage);
  EVP_PKEY* signer = ca == nullptr ? made.key.get() : ca->key.get();
  METIS_CHECK(X509_sign(certificate, signer, EVP_sha256()) > 0);
  return made;
}

inline Identity MakeCa(const std::string& name = "test CA", long days = 30) {
  return MakeCertificate({.name = name, .days = days, .authority = true}, nullptr);
}

inline std::string PemOf(BIO* out) {
  char* text = nullptr;
  const long length = BIO_get_mem_data(out, &text);
  std::string pem(text, static_cast<size_t>(length));
  BIO_free(out);
  return pem;
}

inline std::string CertificatePem(const Identity& identity) {
  BIO* out = BIO_new(BIO_s_mem());
  METIS_CHECK(PEM_write_bio_X509(out, identity.certificate.get()) == 1);
  return PemOf(out);
}

inline std::string KeyPem(const Identity& identity) {
  BIO* out = BIO_new(BIO_s_mem());
  METIS_CHECK(PEM_write_bio_PrivateKey(out, identity.key.get(), nullptr, nullptr, 0, nullptr,
                                       nullptr) == 1);
  return PemOf(out);
}

// As LoadCredentials would give them, without files.
inline Credentials MakeCredentials(const Identity& ca, const CertificateSpec& spec) {
  const Identity own = MakeCertificate(spec, &ca);
  return {CertificatePem(ca), CertificatePem(own), KeyPem(own), {spec.name}};
}
inline Credentials MakeCredentials(const Identity& ca, const std::string& name) {
  return MakeCredentials(ca, CertificateSpec{.name = name});
}

// With what is written into its directory.
class FileTest : public metis::FileTest {
 protected:
  std::string Write(std::string_view name, std::string_view text, mode_t mode = 0600) const {
    std::ofstream file(Path(name), std::ios::binary);
    file << text;
    EXPECT_TRUE(file.flush().good());
    EXPECT_EQ(::chmod(Path(name).c_str(), mode), 0);
    return Path(name);
  }
  std::string Read(std::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
};

inline constexpr LearnerId kSelf(3);
inline constexpr Incarnation kLife(5);
// Three chunks and a part of a fourth.
inline constexpr size_t kParameters = 3 * wire::kChunkBytes / sizeof(float) + 1237;

inline SchemaPtr TestSchema() { return ModelSchema::Create({{"w", {kParameters}}}).value(); }

// Keeps the controller's messages.
class Inbox final : public drivers::ParticipantInbox {
 public:
  void Receive(federation::Action message) override {
    std::scoped_lock lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  // All messages so far, once there are n of them.
  std::vector<federation::Action> Await(size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return messages_.size() >= n; }))
        << messages_.size() << " of " << n;
    return messages_;
  }
  template <typename T>
  T Nth(size_t n) {
    const std::vector<federation::Action> all = Await(n);
    const T* found = n <= all.size() ? std::get_if<T>(&all[n - 1]) : nullptr;
    EXPECT_NE(found, nullptr) << "message " << n << " is another one";
    return found != nullptr ? *found : T{};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<federation::Action> messages_;
};

// A client, a controller that does as it is told, and what either of them heard.
class ParticipantClientTest : public testing::Test {
 protected:
  ParticipantClientOptions Options() {
    ParticipantClientOptions options;
    options.controller = {"127.0.0.1", controller_.port()};
    options.name = "site-3";
    options.incarnation = kLife;
    options.program = "metis test";
    options.heartbeat = Duration::Milliseconds(500);
    options.first_pause = Duration::Milliseconds(20);
    options.longest_pause = Duration::Milliseconds(200);
    options.say = [this](const std::string& text) {
      std::scoped_lock lock(mutex_);
      said_ += text + "\n";
    };
    return options;
  }
  void Connect() {
    controller_.Start();
    Dial(Options());
  }
  void Dial(ParticipantClientOptions options) {
    Result<std::unique_ptr<ParticipantClient>> client =
        ParticipantClient::Connect(std::move(options), {});
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
    client_->Attach(inbox_, pool_, [this](const Error& error) {
      gone_.push_back(error.message);
      inbox_.Receive(federation::Dismiss{kSelf, kLife, "gone"});
    });
  }
  std::string ConnectError(ParticipantClientOptions options) {
    Result<std::unique_ptr<ParticipantClient>> client =
        ParticipantClient::Connect(std::move(options), {});
    return client ? "none" : client.error().message;
  }

  ModelPtr Of(float value) {
    ModelDraft draft = pool_.Draft();
    for (size_t i = 0; i < kParameters; ++i) {
      draft.parameters()[i] = value + static_cast<float>(i % 1009);
    }
    return std::move(draft).Seal();
  }
  federation::UpdateReceived Update(uint64_t sequence, float value) {
    federation::UpdateReceived update;
    update.id = {kSelf, kLife, Sequence(sequence)};
    update.base = Version(sequence + 1);
    update.steps = 70 + sequence;
    update.model = Of(value);
    return update;
  }
  federation::SendCommunity Community(uint64_t version, float value) {
    return {kSelf, kLife, Version(version), Of(value), version * 10, Sequence(1), false};
  }
  federation::RequestEvaluation Evaluation(uint32_t from, float value) {
    return {kSelf, kLife, {LearnerId(from), Incarnation(2), Sequence(9)}, Of(value)};
  }
  size_t Heard(v1::FromParticipant::ContentCase kind) const {
    return static_cast<size_t>(
        std::count_if(controller_.heard.begin(), controller_.heard.end(),
                      [kind](const auto& message) { return message.content_case() == kind; }));
  }
  std::string said() {
    std::scoped_lock lock(mutex_);
    return said_;
  }

  std::mutex mutex_;
  std::string said_;
  std::vector<std::string> gone_;
  ModelPool pool_{TestSchema()};
  Inbox inbox_;
  FakeController controller_{pool_};
  std::unique_ptr<ParticipantClient> client_;
};

}  // namespace metis::rpc
