/*
 * See tls.h.
 */
#include "tls.h"

#include "common/clock.h"
#include "connection.h"
#include "memory.h"
#include "random.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is received at once, at most: several records. */
#define INPUT_BYTES 65536

/* Sessions that are kept to be offered again. */
#define SESSIONS_KEPT 1024

/* The only protocol that is offered, after the number of its letters. */
static const unsigned char http2_name[] = {2, 'h', '2'};

struct tls {
    SSL_CTX *context;
    BIO_METHOD *socket; /* how OpenSSL reads and writes */
    const char *name;   /* that the handshake asks for, NULL for none */
    double resumed_share;
    SSL_SESSION *sessions[SESSIONS_KEPT];
    unsigned session_count;
    unsigned replaced;             /* since there was no more room */
    char discarded[RECEIVE_BYTES]; /* what nobody looks at is decrypted to */
};

/* OpenSSL has a session that may be offered again: as a rule with the handshake of TLS 1.2, and after it
 * in 1.3. Where there is room for no further one it takes the place of the eldest. Returns 1, as the session
 * is kept. */
static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    if (tls->session_count < SESSIONS_KEPT) {
        tls->sessions[tls->session_count++] = session;
        return 1;
    }
    SSL_SESSION **eldest = &tls->sessions[tls->replaced++ % SESSIONS_KEPT];
    SSL_SESSION_free(*eldest);
    *eldest = session;
    return 1;
}

/* Has the connection offer one of the sessions, if there are any. */
static void offer_session(struct connections *all, SSL *ssl)
{
    struct tls *tls = all->tls;

    if (tls->session_count == 0)
        return;
    uint64_t place = (uint64_t)(random_uniform(&all->random_state) * tls->session_count) % tls->session_count;
    SSL_SESSION *session = tls->sessions[place];
    all->account->sessions_resumption_offered += (uint64_t)(SSL_set_session(ssl, session) == 1);
    if (SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION)
        return;
    tls->sessions[place] = tls->sessions[--tls->session_count];
    SSL_SESSION_free(session);
}

/* Turns what OpenSSL says of an operation that did not go through into what recv(2) would have returned:
 * `broken` is the errno of a peer that does not keep to the protocol. A stream that ends without TLS's own
 * farewell has ended nevertheless: whether a reply was complete its length says, or else that farewell. */
static ssize_t as_of_socket(const SSL *ssl, int result, int broken)
{
    int error = errno;

    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        errno = error;
        return error == 0 ? 0 : -1;
    default:
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
            return 0;
        errno = broken;
        return -1;
    }
}

/* Gets ready for an operation, so that as_of_socket finds what this one has left. */
static SSL *ready(const struct connection *c)
{
    ERR_clear_error();
    errno = 0;
    return c->secured;
}

/* The functions of OpenSSL's way to the socket; its data is the connection. */

static int read_socket(BIO *bio, char *buffer, size_t size, size_t *got)
{
    struct connection *c = BIO_get_data(bio);
    ssize_t received = recv(c->descriptor, buffer, size, 0);

    BIO_clear_retry_flags(bio);
    c->emptied = received < (ssize_t)size;
    if (received < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    *got = received > 0 ? (size_t)received : 0;
    return received > 0;
}

static int write_socket(BIO *bio, const char *data, size_t size, size_t *written)
{
    const struct connection *c = BIO_get_data(bio);
    ssize_t sent = send(c->descriptor, data, size, MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (sent < 0 && errno == EAGAIN)
        BIO_set_retry_write(bio);
    *written = sent > 0 ? (size_t)sent : 0;
    return sent >= 0;
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_socket_method(void)
{
    BIO_METHOD *method = memory_needed(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket"));

    if (BIO_meth_set_read_ex(method, read_socket) != 1 || BIO_meth_set_write_ex(method, write_socket) != 1 ||
        BIO_meth_set_ctrl(method, control_socket) != 1)
        memory_needed(NULL);
    return method;
}

static SSL *begin(struct connections *all, struct connection *c)
{
    SSL *ssl = memory_needed(SSL_new(all->tls->context));
    BIO *socket = memory_needed(BIO_new(all->tls->socket));

    BIO_set_data(socket, c);
    BIO_set_init(socket, 1);
    SSL_set_bio(ssl, socket, socket);
    if ((all->tls->name != NULL && SSL_set_tlsext_host_name(ssl, all->tls->name) != 1))
        memory_needed(NULL);
    if (all->tls->resumed_share > 0 && random_uniform(&all->random_state) <= all->tls->resumed_share)
        offer_session(all, ssl);
    return ssl;
}

/* Says whether HTTP/2 is what the server has chosen (RFC 7301). */
static bool chose_http2(const SSL *ssl)
{
    const unsigned char *chosen;
    unsigned length;

    SSL_get0_alpn_selected(ssl, &chosen, &length);
    return length == http2_name[0] && memcmp(chosen, http2_name + 1, length) == 0;
}

static ssize_t open_tls(struct connections *all, struct connection *c)
{
    if (c->secured == NULL)
        c->secured = begin(all, c);
    SSL *ssl = ready(c);
    int result = SSL_connect(ssl);
    if (result == 1 && all->http2 != NULL && !chose_http2(ssl)) {
        all->account->handshakes_failed++;
        errno = EPROTONOSUPPORT;
        return -1;
    }
    if (result == 1) {
        account_handshake(all->account, c->connected_ns, clock_now_ns(), SSL_session_reused(ssl) == 1);
        return 1;
    }
    bool refused = SSL_get_verify_result(ssl) != X509_V_OK;
    ssize_t status = as_of_socket(ssl, result, refused ? EKEYREJECTED : EPROTO);
    if (status == 0 || errno != EAGAIN)
        all->account->handshakes_failed++;
    else if (SSL_want_write(ssl))
        connection_watch_sending(all, c);
    return status;
}

static ssize_t send_tls(struct connections *all, struct connection *c, const void *data, size_t size)
{
    SSL *ssl = ready(c);
    size_t sent;
    int result = SSL_write_ex(ssl, data, size, &sent);

    (void)all;
    return result == 1 ? (ssize_t)sent : as_of_socket(ssl, result, EBADMSG);
}

static ssize_t receive_tls(struct connections *all, struct connection *c, void *buffer, size_t size)
{
    SSL *ssl = ready(c);
    size_t got;

    if (buffer == NULL) {
        buffer = all->tls->discarded;
        size = size < sizeof(all->tls->discarded) ? size : sizeof(all->tls->discarded);
    }
    int result = SSL_read_ex(ssl, buffer, size, &got);
    return result == 1 ? (ssize_t)got : as_of_socket(ssl, result, EBADMSG);
}

static bool drained_tls(const struct connection *c, bool filled)
{
    (void)filled;
    return c->emptied && !SSL_has_pending(c->secured);
}

static bool said_farewell_tls(const struct connection *c)
{
    return (SSL_get_shutdown(c->secured) & SSL_RECEIVED_SHUTDOWN) != 0;
}

/* Where connections end with FIN, the server is told the end of the stream before (RFC 8446 §6.1); where they
 * end with RST, nothing would reach it. OpenSSL holds a session that was freed before it was shut down for
 * broken, and would not offer it again. */
static void close_tls(struct connections *all, struct connection *c)
{
    if (c->secured == NULL)
        return;
    SSL *ssl = ready(c);
    if (!all->network.close_with_reset && SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    c->secured = NULL;
}

const struct transport transport_tls = {
    .open = open_tls,
    .send = send_tls,
    .receive = receive_tls,
    .close = close_tls,
    .drained = drained_tls,
    .said_farewell = said_farewell_tls,
};

/* Takes any certificate; without --tls-ca nobody asks whose it is, and its chain is not even built. */
static int accept_any(X509_STORE_CTX *store, void *context)
{
    (void)store;
    (void)context;
    return 1;
}

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Has certificates checked against the authorities of the option, and against the server's name or address.
 */
static bool set_authorities(SSL_CTX *context, const struct options *options, const struct url *url)
{
    X509_VERIFY_PARAM *wanted = SSL_CTX_get0_param(context);
    const char *name = options->tls_name == NULL ? url->host : options->tls_name;

    if (options->tls_ca == NULL) {
        SSL_CTX_set_cert_verify_callback(context, accept_any, NULL);
        return true;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    int named = is_address(name) ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name)
                                 : X509_VERIFY_PARAM_set1_host(wanted, name, 0);
    return named == 1 && SSL_CTX_load_verify_file(context, options->tls_ca) == 1;
}

static bool set_version(SSL_CTX *context, const struct options *options)
{
    static const int versions[] = {[TLS_ANY] = 0, [TLS_1_2] = TLS1_2_VERSION, [TLS_1_3] = TLS1_3_VERSION};
    int version = versions[options->tls_version];

    return SSL_CTX_set_min_proto_version(context, version == 0 ? TLS1_2_VERSION : version) == 1 &&
           SSL_CTX_set_max_proto_version(context, version) == 1;
}

static bool set_ciphers(SSL_CTX *context, const struct options *options)
{
    if (options->tls_ciphers == NULL)
        return true;
    if (options->tls_version == TLS_1_3)
        return SSL_CTX_set_ciphersuites(context, options->tls_ciphers) == 1;
    return SSL_CTX_set_cipher_list(context, options->tls_ciphers) == 1;
}

struct tls *tls_new(const struct options *options, const struct url *url, char *error, size_t error_size)
{
    struct tls *tls = memory_needed(calloc(1, sizeof(*tls)));
    SSL_CTX *context = memory_needed(SSL_CTX_new(TLS_client_method()));
    const char *name = options->tls_name == NULL ? url->host : options->tls_name;

    *tls = (struct tls){
        .context = context,
        .socket = make_socket_method(),
        .name = is_address(name) ? NULL : name, /* RFC 6066 §3: addresses are no server names */
        .resumed_share = options->tls_resumed,
    };
    SSL_CTX_set_app_data(context, tls);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_read_buffer_len(context, INPUT_BYTES);
    SSL_CTX_set_read_ahead(context,
                           1); /* or the five bytes before each record would take a call of their own */
    if (!set_version(context, options))
        snprintf(error, error_size, "--tls-version: this OpenSSL is built without that version");
    else if (!set_ciphers(context, options))
        snprintf(error, error_size, "--tls-ciphers %.100s: expected names that OpenSSL knows for TLS %s",
                 options->tls_ciphers, options->tls_version == TLS_1_3 ? "1.3" : "1.2");
    else if (!set_authorities(context, options, url))
        snprintf(error, error_size, "--tls-ca %.200s: expected a file of certificates in PEM form",
                 options->tls_ca);
    else if (options->http == HTTP_2 && SSL_CTX_set_alpn_protos(context, http2_name, sizeof(http2_name)) != 0)
        memory_needed(NULL);
    else
        return tls;
    tls_free(tls);
    return NULL;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    for (unsigned i = 0; i < tls->session_count; i++)
        SSL_SESSION_free(tls->sessions[i]);
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->socket);
    free(tls);
}
