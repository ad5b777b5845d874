# Trimtab in one image: the daemon with its API and web UI, the server core and the load generator.
# docker-compose.yml says how it is run.

# --- the server and the load generator -------------------------------------------------------
FROM debian:bookworm-slim AS server-core
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev libinih-dev libjansson-dev liburing-dev meson ninja-build pkg-config \
 && rm -rf /var/lib/apt/lists/*
COPY server-core /src
RUN meson setup /build /src -Dtests=disabled && ninja -C /build

# --- the web UI ------------------------------------------------------------------------------
FROM node:22-slim AS webui
WORKDIR /src
COPY webui/package.json webui/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY webui ./
RUN npm run build

# --- the Python packages ---------------------------------------------------------------------
FROM python:3.11-slim AS python
RUN python -m venv /opt/trimtab/venv
COPY requirements.lock /src/
RUN /opt/trimtab/venv/bin/pip install --no-cache-dir --require-hashes -r /src/requirements.lock
COPY trials /src/trials
COPY tuner /src/tuner
COPY db /src/db
COPY agent /src/agent
RUN /opt/trimtab/venv/bin/pip install --no-cache-dir --no-deps /src/trials /src/tuner /src/db /src/agent

# --- what runs -------------------------------------------------------------------------------
FROM python:3.11-slim
# The servers that can be tuned besides trimtab-httpd, and PHP for dynamic requests; none is started by its
# package.
# libinih reads trimtab-httpd's configuration, libjansson trimtab-load's results; setpriv (util-linux) ties
# children to the daemon's life. An id of the machine in the image would be that of every machine that runs it.
RUN apt-get update \
 && apt-get install -y --no-install-recommends apache2-bin h2o iproute2 libinih1 libjansson4 lighttpd liburing2 nginx-light php-fpm util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && rm -f /etc/machine-id \
 && useradd --system --uid 10001 --home-dir /var/lib/trimtab --create-home trimtab
COPY --from=server-core /build/httpd/trimtab-httpd /build/loadgen/trimtab-load /opt/trimtab/bin/
COPY --from=webui /src/dist /opt/trimtab/webui
COPY --from=python /opt/trimtab/venv /opt/trimtab/venv
ENV PATH=/opt/trimtab/venv/bin:/opt/trimtab/bin:$PATH \
    TRIMTAB_HTTPD_PATH=/opt/trimtab/bin/trimtab-httpd \
    TRIMTAB_LOAD_PATH=/opt/trimtab/bin/trimtab-load \
    TRIMTAB_WEBUI=/opt/trimtab/webui \
    TRIMTAB_VAR=/var/lib/trimtab
USER trimtab
WORKDIR /var/lib/trimtab
VOLUME /var/lib/trimtab
EXPOSE 8080
CMD ["trimtab", "up", "--host", "0.0.0.0", "--port", "8080"]
