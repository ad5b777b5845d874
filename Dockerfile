# Trimtab in one image: the daemon with its API, web UI and documentation, the server core and the load
# generator, laid out as the Debian package lays them out. docker-compose.yml says how it is run.

# --- the web UI ------------------------------------------------------------------------------
FROM node:22-slim AS webui
WORKDIR /src
COPY webui/package.json webui/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY webui ./
RUN npm run build

# --- everything, as it will lie in the image --------------------------------------------------
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev libjansson-dev libnghttp2-dev libssl-dev liburing-dev meson ninja-build \
    pkg-config python3-hatchling python3-pip python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Fetched before the sources come, so that a change of those fetches nothing.
COPY requirements.lock requirements-docs.lock ./
RUN pip download --quiet --no-cache-dir --require-hashes -d /wheels -r requirements.lock -r requirements-docs.lock
COPY LICENSE README.md CHANGELOG.md zensical.toml ./
COPY server-core ./server-core
COPY trials ./trials
COPY tuner ./tuner
COPY db ./db
COPY agent ./agent
COPY package ./package
COPY docs ./docs
COPY --from=webui /src/dist /webui
RUN PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels package/stage /stage /webui

# --- what runs -------------------------------------------------------------------------------
FROM debian:bookworm-slim
# The servers that can be tuned besides trimtab-httpd, and PHP for dynamic requests; none is started by its
# package.
# libjansson reads trimtab-load's results, libssl speaks TLS for it, libnghttp2 HTTP/2; setpriv (util-linux) ties
# children to the daemon's life. An id of the machine in the image would be that of every machine that runs it.
RUN apt-get update \
 && apt-get install -y --no-install-recommends apache2-bin h2o iproute2 libjansson4 libnghttp2-14 libssl3 libstdc++6 lighttpd \
    lighttpd-mod-openssl liburing2 mariadb-server nginx-light openssl php-fpm python3 util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && rm -f /etc/machine-id \
 && useradd --system --uid 10001 --home-dir /var/lib/trimtab --create-home trimtab
# Where the members of a fleet in docker-compose.yml share their credentials.
RUN install --directory --owner trimtab --mode 700 /fleet
COPY --from=build /stage /
ENV TRIMTAB_VAR=/var/lib/trimtab
USER trimtab
WORKDIR /var/lib/trimtab
VOLUME /var/lib/trimtab
EXPOSE 8080
CMD ["trimtab", "up", "--host", "0.0.0.0", "--port", "8080"]
